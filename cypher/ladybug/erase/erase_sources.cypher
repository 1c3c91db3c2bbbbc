// what: erases the node of a source, when all that hangs on it is gone
// parameters: namespace, source_id
// returns: one row a label of sources: label, number (how many went)
MATCH (q:Query {id: $source_id})
WHERE q.namespace = $namespace
DETACH DELETE q
RETURN 'Query' AS label, count(*) AS number
UNION ALL
MATCH (d:Document {id: $source_id})
WHERE d.namespace = $namespace
DETACH DELETE d
RETURN 'Query' AS label, count(*) AS number
