// what: reads the chunks of sources
//     (after an UNWIND of ids, the engine reads all relationships of the store)
// parameters: ids
// returns: one row a chunk, in no order: its properties and source_id
MATCH (q:Source)-[:HAS_CHUNK]->(c:Chunk)
WHERE q.id IN $ids
RETURN q.id AS source_id, c.id AS id, c.position AS position, c.start AS start, c.text AS text, c.page AS page,
  coalesce(c.heading, CAST([] AS STRING[])) AS heading
