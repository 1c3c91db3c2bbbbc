// what: reads all concepts, page by page
// parameters: namespace, after (the last id of the page before), reached (by what that id is found in the index), limit
// returns: one row a concept: id, key, name, entities, cluster
MATCH (c:Concept)
USING INDEX c:Concept(namespace, cluster)
WHERE
  c.namespace = $namespace AND c.cluster >= $reached AND (c.cluster > $reached OR c.id > $after)
WITH c
ORDER BY c.namespace, c.cluster, c.id
LIMIT $limit
RETURN c.id AS id, c.key AS key, c.name AS name, c.entities AS entities, c.cluster AS cluster
