// what: reads all concepts
// parameters: namespace
// returns: one row a concept: id, key, name, entities, cluster
MATCH (c:Concept)
WHERE c.namespace = $namespace
RETURN c.id AS id, c.key AS key, c.name AS name, c.entities AS entities, c.cluster AS cluster
