// what: erases the node of a query, when all that hangs on it is gone
// parameters: namespace, source_id
// returns: one row: queries (how many went)
MATCH (q:Query {id: $source_id})
USING INDEX SEEK q:Query(id)
WHERE q.namespace = $namespace
DETACH DELETE q
RETURN count(*) AS queries
