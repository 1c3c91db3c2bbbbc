// what: which of these queries are stored: the least that an idempotent write must ask
// parameters: query_ids
// returns: one row a stored query: id
UNWIND $query_ids AS id
MATCH (q:Query {id: id})
USING INDEX SEEK q:Query(id)
RETURN q.id AS id
