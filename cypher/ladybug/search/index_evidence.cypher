// what: reads the kept evidence of sources
//     (after an UNWIND of ids, the engine reads all relationships of the store)
// parameters: ids
// returns: one row an evidence, in no order: id, source_id, chunk_id, position, start, end, text
MATCH (q:Source)-[:HAS_EVIDENCE]->(e:Evidence)
WHERE q.id IN $ids
WITH q, e
WHERE e.kept
RETURN q.id AS source_id, e.id AS id, e.chunk_id AS chunk_id, e.position AS position, e.start AS start, e.`end` AS `end`,
  e.text AS text
