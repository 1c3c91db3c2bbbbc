// what: lists answers without their snapshots, newest first; those of one query where source_id is not empty
// parameters: namespace, source_id, limit
// returns: one row an answer: its properties
MATCH (a:Answer)
WHERE a.namespace = $namespace AND ($source_id = '' OR list_contains(a.source_ids, $source_id))
RETURN
  a.id AS id, a.question AS question, a.`options` AS `options`, a.source_ids AS source_ids, a.text AS text, a.label AS label,
  a.gold AS gold, a.correct AS correct, a.confidence AS confidence, a.mode AS mode, a.student AS student,
  a.line_json AS line_json, a.prompt_tokens AS prompt_tokens, a.latency_ms AS latency_ms, a.created_at AS created_at
ORDER BY created_at DESC, id
LIMIT $limit
