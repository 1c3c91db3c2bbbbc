// what: erases the entities of a query, and so all triples and simple edges between them
// parameters: namespace, source_id
// returns: one row: number (how many went)
MATCH (q:Query|Document {id: $source_id})-[:MENTIONS]->(n:Entity)
WHERE q.namespace = $namespace
DETACH DELETE n
RETURN count(*) AS number
