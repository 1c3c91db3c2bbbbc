// what: lets entities refer to concepts, from maps of ids: entity, concept, namespace
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (e:Entity {id: r.entity})
MATCH (c:Concept {id: r.concept})
CREATE (e)-[:REFERS_TO {namespace: r.namespace}]->(c)
