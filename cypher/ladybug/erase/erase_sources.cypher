// what: erases the node of a source, when all that hangs on it is gone
// parameters: namespace, source_id
// returns: one row: label, number (how many went)
MATCH (q:Source {id: $source_id})
WHERE q.namespace = $namespace
DETACH DELETE q
RETURN 'Query' AS label, count(*) AS number
