// what: removes nodes Entity that belong to no stored query
// parameters: namespace, ids
// returns: one row a node that went: id
UNWIND $ids AS id
MATCH (n:Entity {id: id})
WHERE n.namespace = $namespace AND NOT EXISTS { MATCH (q:Source)-[:MENTIONS]->(n) WHERE q.id = n.source_id }
DETACH DELETE n
RETURN id
