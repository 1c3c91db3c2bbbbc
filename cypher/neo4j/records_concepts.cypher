// what: reads the nodes of all concepts, page by page
// parameters: namespace, reached, after (cluster and id of the last one of the page before), limit, vectors (whether these are
//     wanted, too)
// returns: one row a concept: id, properties, reached
CALL () {
  MATCH (c:Concept)
  USING INDEX SEEK c:Concept(namespace, cluster, id)
  WHERE c.namespace = $namespace AND c.cluster = $reached AND c.id > $after
  RETURN c
  ORDER BY c.namespace, c.cluster, c.id
  LIMIT $limit
UNION ALL
  MATCH (c:Concept)
  USING INDEX SEEK c:Concept(namespace, cluster, id)
  WHERE c.namespace = $namespace AND c.cluster > $reached AND c.id IS NOT NULL
  RETURN c
  ORDER BY c.namespace, c.cluster, c.id
  LIMIT $limit
}
WITH c
ORDER BY c.namespace, c.cluster, c.id
LIMIT $limit
RETURN c.id AS id, c {.*, embedding: CASE WHEN $vectors THEN c.embedding END} AS properties, c.cluster AS reached
