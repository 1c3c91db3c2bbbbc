// what: reads an answer with its snapshot
// parameters: namespace, answer_id
// returns: at most one row: its properties
MATCH (a:Answer {id: $answer_id})
WHERE a.namespace = $namespace
RETURN
  a.id AS id, a.question AS question, a.`options` AS `options`, a.source_ids AS source_ids, a.text AS text, a.label AS label,
  a.gold AS gold, a.correct AS correct, a.confidence AS confidence, a.mode AS mode, a.student AS student,
  a.line_json AS line_json, a.prompt_tokens AS prompt_tokens, a.latency_ms AS latency_ms, a.created_at AS created_at,
  a.snapshot AS snapshot
