// what: erases the nodes of sources
// parameters: namespace, source_ids
// returns: one row: queries (how many went)
UNWIND $source_ids AS id
MATCH (q:Source {id: id})
USING INDEX SEEK q:Source(id)
WHERE q.namespace = $namespace
DETACH DELETE q
RETURN count(*) AS queries
