// what: makes the concept of each entity of a namespace, under the entity's name, all in one cluster
// parameters: namespace
// returns: nothing
MATCH (e:Entity)
WHERE e.namespace = $namespace
MERGE (c:Concept {id: $namespace + ' ' + e.name})
SET c.namespace = $namespace, c.name = e.name, c.key = e.name, c.cluster = 'all'
CREATE (e)-[:REFERS_TO {namespace: $namespace}]->(c)
