// what: reads the chunks of sources
// parameters: ids
// returns: one row a chunk, in no order: its properties and source_id
UNWIND $ids AS id
MATCH (q:Source {id: id})-[:HAS_CHUNK]->(c:Chunk)
RETURN q.id AS source_id, c.id AS id, c.position AS position, c.start AS start, c.text AS text, c.page AS page,
  coalesce(c.heading, CAST([] AS STRING[])) AS heading
