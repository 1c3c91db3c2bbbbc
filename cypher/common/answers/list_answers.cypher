// what: lists answers, newest first; those to one source where source_id is not empty
// parameters: namespace, source_id, limit, whole (whether their snapshots are wanted)
// returns: one row an answer: its properties
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.created_at IS NOT NULL AND ($source_id = '' OR $source_id IN a.source_ids)
WITH a
ORDER BY a.created_at DESC, a.id
LIMIT $limit
RETURN
  a.id AS id, a.question AS question, a.`options` AS `options`, a.source_ids AS source_ids, a.text AS text, a.label AS label,
  a.gold AS gold, a.correct AS correct, a.confidence AS confidence, a.mode AS mode, a.student AS student,
  a.line_json AS line_json, a.prompt_tokens AS prompt_tokens, a.latency_ms AS latency_ms, a.created_at AS created_at,
  CASE WHEN $whole THEN a.snapshot ELSE '' END AS snapshot
ORDER BY created_at DESC, id
