// what: finds communities that no entity is in
// parameters: namespace
// returns: one row a community: id
MATCH (c:Community)
USING INDEX SEEK c:Community(namespace, id)
WHERE c.namespace = $namespace AND c.id IS NOT NULL AND NOT EXISTS { (c)<-[:IN_COMMUNITY]-() }
RETURN c.id AS id
