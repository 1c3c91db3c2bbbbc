// what: reads all concepts, page by page
// parameters: namespace, reached, after (cluster and id of the last one of the page before), limit
// returns: one row a concept: id, key, name, entities, cluster, reached
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
RETURN c.id AS id, c.key AS key, c.name AS name, coalesce(c.entities, 0) AS entities, c.cluster AS cluster, c.cluster AS reached
