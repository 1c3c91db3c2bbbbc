// what: lets entities that are there and refer to no concept refer to one, from maps of ids: entity, concept
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (e:Entity {id: r.entity})
WHERE NOT EXISTS { MATCH (e)-[:REFERS_TO]->(:Concept) }
MATCH (c:Concept {id: r.concept})
CREATE (e)-[:REFERS_TO {namespace: r.namespace}]->(c)
