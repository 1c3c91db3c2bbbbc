// what: reads all concepts, page by page
// parameters: namespace, after, limit
// returns: one row a concept, by id: id, key, name, entities, cluster
MATCH (c:Concept)
USING INDEX c:Concept(id)
WHERE c.id > $after AND c.namespace = $namespace
RETURN c.id AS id, c.key AS key, c.name AS name, c.entities AS entities, c.cluster AS cluster
ORDER BY id
LIMIT $limit
