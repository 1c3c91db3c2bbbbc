// what: erases a namespace
// parameters: namespace
// returns: nothing
MATCH (n)
WHERE n.namespace = $namespace
DETACH DELETE n
