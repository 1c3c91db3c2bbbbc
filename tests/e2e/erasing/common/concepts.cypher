// what: reads the concepts of a namespace
// parameters: namespace
// returns: one row a concept: name, entities, cluster
MATCH (c:Concept)
WHERE c.namespace = $namespace
RETURN c.name AS name, c.entities AS entities, c.cluster AS cluster
ORDER BY name
