// what: finds communities that no entity is in
// parameters: namespace
// returns: one row a community: id
MATCH (c:Community)
WHERE c.namespace = $namespace AND NOT EXISTS { MATCH (:Entity)-[:IN_COMMUNITY]->(c) }
RETURN c.id AS id
