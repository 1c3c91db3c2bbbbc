// what: lets entities that are there and refer to no concept refer to one, from maps of ids: entity, concept
// parameters: namespace, rows
// returns: one row: number (how many refer to one now)
UNWIND $rows AS r
MATCH (e:Entity {id: r.entity})
WHERE e.namespace = $namespace AND NOT EXISTS { MATCH (e)-[:REFERS_TO]->(:Concept) }
MATCH (c:Concept {id: r.concept})
CREATE (e)-[:REFERS_TO {namespace: $namespace}]->(c)
RETURN count(*) AS number
