// what: reads all concepts, page by page
// parameters: namespace, reached, after (cluster and id of the last one of the page before), limit
// returns: one row a concept: id, key, name, entities, cluster, reached
MATCH (c:Concept)
USING INDEX SEEK c:Concept(namespace, cluster)
WHERE c.namespace = $namespace AND c.cluster >= $reached AND (c.cluster > $reached OR c.id > $after)
WITH c
ORDER BY c.namespace, c.cluster, c.id
LIMIT $limit
RETURN c.id AS id, c.key AS key, c.name AS name, coalesce(c.entities, 0) AS entities, c.cluster AS cluster, c.cluster AS reached
