// what: reads the chunks of a document
// parameters: node_table, node_offset (the place of the source)
// returns: one row a chunk, in no order: its properties
MATCH (q:Document)-[:HAS_CHUNK]->(c:Chunk)
WHERE id(q) = internal_id($node_table, $node_offset)
RETURN c.id AS id, c.position AS position, c.start AS start, c.`end` AS `end`, c.text AS text
