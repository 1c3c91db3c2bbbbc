// what: reads the chunks of a document
// parameters: source_id
// returns: one row a chunk, in no order: its properties
MATCH (:Document {id: $source_id})-[:HAS_CHUNK]->(c:Chunk)
RETURN c.id AS id, c.position AS position, c.start AS start, c.`end` AS `end`, c.text AS text
