// what: reads the nodes of all concepts, page by page
// parameters: namespace, reached, after (cluster and id of the last one of the page before), limit, vectors (whether these are
//     wanted, too)
// returns: one row a concept: id, properties, reached
MATCH (c:Concept)
USING INDEX SEEK c:Concept(namespace, cluster)
WHERE
  c.namespace = $namespace AND c.cluster >= $reached AND (c.cluster > $reached OR c.id > $after)
WITH c
ORDER BY c.namespace, c.cluster, c.id
LIMIT $limit
RETURN c.id AS id, c {.*, embedding: CASE WHEN $vectors THEN c.embedding END} AS properties, c.cluster AS reached
