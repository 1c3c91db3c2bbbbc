// what: deletes the nodes
// parameters: namespace
// returns: nothing
MATCH (v:Vanishing)
WHERE v.namespace = $namespace
DETACH DELETE v
