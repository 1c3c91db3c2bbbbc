// what: locks a site for other writers until the transaction ends
// parameters: namespace, id
// returns: one row if the site exists: id
MATCH (e:Edge {id: $id})
WHERE e.namespace = $namespace
SET e.refused = e.refused
RETURN e.id AS id
