// what: removes those of these communities that no entity is in
// parameters: namespace, ids
// returns: one row a community that went: id
UNWIND $ids AS id
MATCH (c:Community {id: id})
WHERE c.namespace = $namespace AND NOT EXISTS { MATCH (:Entity)-[:IN_COMMUNITY]->(c) }
DETACH DELETE c
RETURN id
