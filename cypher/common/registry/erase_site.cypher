// what: erases a site, but not its summaries
// parameters: namespace, id
// returns: nothing
MATCH (e:Edge {id: $id})
WHERE e.namespace = $namespace
DETACH DELETE e
