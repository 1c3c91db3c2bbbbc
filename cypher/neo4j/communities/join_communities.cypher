// what: puts entities that are there and in no community into one, from maps of ids: entity, community. The SET waits for who else
//     writes the node, and then it is looked at again
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (e:Entity {id: r.entity})
USING INDEX SEEK e:Entity(id)
WHERE e.namespace = $namespace
SET e.namespace = e.namespace
WITH e, r
WHERE e.id IS NOT NULL AND NOT EXISTS { (e)-[:IN_COMMUNITY]->() }
MATCH (c:Community {id: r.community})
USING INDEX SEEK c:Community(id)
CREATE (e)-[:IN_COMMUNITY {namespace: $namespace}]->(c)
