// what: erases the chunks of a document
// parameters: namespace, source_id
// returns: one row: number (how many went)
MATCH (d:Document {id: $source_id})-[:HAS_CHUNK]->(n:Chunk)
WHERE d.namespace = $namespace
DETACH DELETE n
RETURN count(*) AS number
