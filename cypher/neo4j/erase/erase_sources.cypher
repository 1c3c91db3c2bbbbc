// what: erases the nodes of sources
// parameters: namespace, source_ids
// returns: one row: queries (how many went)
UNWIND $source_ids AS id
MATCH (q:Query {id: id})
USING INDEX SEEK q:Query(id)
WHERE q.namespace = $namespace
DETACH DELETE q
RETURN count(*) AS queries
