// what: finds kept evidence without a vector, page by page
// parameters: namespace, reached, after (query and id of the last one of the page before), limit
// returns: one row a node: id, text, reached
MATCH (n:Evidence)
USING INDEX SEEK n:Evidence(namespace, source_id)
WHERE n.namespace = $namespace AND n.source_id >= $reached
  AND CASE WHEN n.source_id > $reached THEN true ELSE n.id > $after END
  AND n.kept AND n.embedding IS NULL
WITH n
ORDER BY n.namespace, n.source_id, n.id
LIMIT $limit
RETURN n.id AS id, n.text AS text, n.source_id AS reached
