// what: erases the node of a source, when all that hangs on it is gone
// parameters: namespace, source_id
// returns: one row: label, number (how many went)
MATCH (q:Source {id: $source_id})
WHERE q.namespace = $namespace
WITH q, CASE WHEN q.kind = 'document' THEN 'Document' ELSE 'Query' END AS label
DETACH DELETE q
RETURN label, count(*) AS number
