// what: reads the chunks of a document
// parameters: namespace, source_id
// returns: one row a chunk, in no order: its properties
MATCH (q:Source {id: $source_id})-[:HAS_CHUNK]->(c:Chunk)
WHERE q.namespace = $namespace
RETURN c.id AS id, c.position AS position, c.start AS start, c.`end` AS `end`, c.text AS text,
  c.page AS page, coalesce(c.heading, CAST([] AS STRING[])) AS heading
