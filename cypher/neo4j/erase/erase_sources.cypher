// what: erases the nodes of sources
// parameters: namespace, source_ids
// returns: one row a label: label, number (how many went)
UNWIND $source_ids AS id
MATCH (q:Source {id: id})
USING INDEX SEEK q:Source(id)
WHERE q.namespace = $namespace
WITH q, CASE WHEN q:Document THEN 'Document' ELSE 'Query' END AS label
DETACH DELETE q
RETURN label, count(*) AS number
