// what: puts entities that are there and in no community into one, from maps of ids: entity, community
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (e:Entity {id: r.entity})
WHERE e.namespace = $namespace AND NOT EXISTS { MATCH (e)-[:IN_COMMUNITY]->(:Community) }
MATCH (c:Community {id: r.community})
CREATE (e)-[:IN_COMMUNITY {namespace: $namespace}]->(c)
