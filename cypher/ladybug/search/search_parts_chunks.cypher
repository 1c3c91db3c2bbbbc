// what: reads chunks by their ids
// parameters: ids
// returns: one row a chunk that is stored: its properties and source_id
UNWIND $ids AS id
MATCH (c:Chunk {id: id})
RETURN c.source_id AS source_id, c.id AS id, c.position AS position, c.start AS start, c.`end` AS `end`, c.text AS text,
  c.page AS page, coalesce(c.heading, CAST([] AS STRING[])) AS heading
