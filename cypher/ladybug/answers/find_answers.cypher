// what: pages through the namespace's answers
// parameters: namespace, after, until (bounds of the ids, both excluded), prefix, limit
// returns: one row an answer, by id: its properties
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.id > $after AND a.id < $until AND a.id STARTS WITH $prefix
RETURN
  a.id AS id, a.question AS question, a.`options` AS `options`, a.source_ids AS source_ids, a.text AS text, a.label AS label,
  a.gold AS gold, a.correct AS correct, a.confidence AS confidence, a.mode AS mode, a.student AS student,
  a.line_json AS line_json, a.prompt_tokens AS prompt_tokens, a.latency_ms AS latency_ms, a.created_at AS created_at,
  a.snapshot AS snapshot
ORDER BY id
LIMIT $limit
