// what: finds concepts without a vector, page by page
// parameters: namespace, reached, after (cluster and id of the last one of the page before), limit
// returns: one row a node: id, text, reached
MATCH (n:Concept)
USING INDEX SEEK n:Concept(namespace, cluster)
WHERE
  n.namespace = $namespace AND n.cluster >= $reached AND (n.cluster > $reached OR n.id > $after) AND n.embedding IS NULL
  AND n.name <> ''
WITH n
ORDER BY n.namespace, n.cluster, n.id
LIMIT $limit
RETURN n.id AS id, n.name AS text, n.cluster AS reached
