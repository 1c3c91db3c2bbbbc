// what: unlinks the entities of a namespace that are objects of a triple from their queries
// parameters: namespace
// returns: nothing
MATCH (q:Source)-[m:MENTIONS]->(n:Entity)
WHERE q.namespace = $namespace AND EXISTS { MATCH (:Entity)-[:TRIPLE]->(n) }
DELETE m
