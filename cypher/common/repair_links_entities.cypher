// what: links entities to their query again, where that is stored and the link is gone
// parameters: namespace, ids
// returns: nothing
UNWIND $ids AS id
MATCH (n:Entity {id: id})
WHERE n.namespace = $namespace AND NOT EXISTS { MATCH (:Query)-[:MENTIONS]->(n) }
MATCH (q:Query {id: n.source_id})
WHERE q.namespace = $namespace
CREATE (q)-[:MENTIONS {namespace: $namespace}]->(n)
