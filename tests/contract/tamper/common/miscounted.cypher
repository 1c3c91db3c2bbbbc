// what: makes concepts claim more entities than there are
// parameters: namespace
// returns: nothing
MATCH (c:Concept)
WHERE c.namespace = $namespace
SET c.entities = c.entities + 1
