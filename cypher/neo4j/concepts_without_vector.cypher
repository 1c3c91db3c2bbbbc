// what: finds concepts without a vector, page by page
// parameters: namespace, reached, after (cluster and id of the last one of the page before), limit
// returns: one row a node: id, text, reached
CALL () {
  MATCH (n:Concept)
  USING INDEX SEEK n:Concept(namespace, cluster, id)
  WHERE n.namespace = $namespace AND n.cluster = $reached AND n.id > $after AND n.embedding IS NULL AND n.name <> ''
  RETURN n
  ORDER BY n.namespace, n.cluster, n.id
  LIMIT $limit
UNION ALL
  MATCH (n:Concept)
  USING INDEX SEEK n:Concept(namespace, cluster, id)
  WHERE n.namespace = $namespace AND n.cluster > $reached AND n.id IS NOT NULL AND n.embedding IS NULL AND n.name <> ''
  RETURN n
  ORDER BY n.namespace, n.cluster, n.id
  LIMIT $limit
}
WITH n
ORDER BY n.namespace, n.cluster, n.id
LIMIT $limit
RETURN n.id AS id, n.name AS text, n.cluster AS reached
