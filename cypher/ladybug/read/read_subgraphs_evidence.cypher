// what: reads the evidence of a source
// parameters: namespace, source_id
// returns: one row an evidence, in no order: its properties
MATCH (q:Source {id: $source_id})-[:HAS_EVIDENCE]->(e:Evidence)
WHERE q.namespace = $namespace
RETURN
  e.id AS id, e.text AS text, e.framing AS framing, e.position AS position, e.cosine AS cosine,
  e.llm_score AS llm_score, e.score AS score, e.rank AS rank, e.kept AS kept, e.reason AS reason,
  e.created_at AS created_at, e.chunk_id AS chunk_id, e.start AS start, e.`end` AS `end`
