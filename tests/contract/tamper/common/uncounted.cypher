// what: takes from concepts how many entities they have
// parameters: namespace
// returns: nothing
MATCH (c:Concept)
WHERE c.namespace = $namespace
SET c.entities = NULL
