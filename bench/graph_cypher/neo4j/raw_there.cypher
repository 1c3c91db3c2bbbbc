// what: which of these queries are stored: the least that an idempotent write must ask
// parameters: source_ids
// returns: one row a stored query: id
UNWIND $source_ids AS id
MATCH (q:Query {id: id})
USING INDEX SEEK q:Query(id)
RETURN q.id AS id
