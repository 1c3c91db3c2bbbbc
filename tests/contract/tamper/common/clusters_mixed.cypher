// what: puts all concepts of a namespace into a cluster of no concept's
// parameters: namespace
// returns: nothing
MATCH (c:Concept)
WHERE c.namespace = $namespace
SET c.cluster = 'missing'
