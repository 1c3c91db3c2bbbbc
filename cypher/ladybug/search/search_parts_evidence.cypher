// what: reads evidence by its ids
// parameters: namespace, ids
// returns: one row an evidence that is stored: its properties and source_id
UNWIND $ids AS id
MATCH (e:Evidence {id: id})
WHERE e.namespace = $namespace
RETURN
  e.source_id AS source_id, e.id AS id, e.text AS text, e.framing AS framing, e.position AS position, e.cosine AS cosine,
  e.llm_score AS llm_score, e.score AS score, e.rank AS rank, e.kept AS kept, e.reason AS reason,
  e.created_at AS created_at, e.chunk_id AS chunk_id, e.start AS start, e.`end` AS `end`
