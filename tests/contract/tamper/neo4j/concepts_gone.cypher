// what: erases all concepts
// parameters: namespace
// returns: nothing
MATCH (c:Concept)
WHERE c.namespace = $namespace
DETACH DELETE c
