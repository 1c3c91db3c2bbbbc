// what: reads all nodes Answer of the namespace
// parameters: namespace
// returns: one row a node: its properties
MATCH (n:Answer)
WHERE n.namespace = $namespace
RETURN
  n.namespace AS namespace, n.id AS id, n.question AS question, n.`options` AS `options`, n.source_ids AS source_ids,
  n.text AS text, n.label AS label, n.gold AS gold, n.correct AS correct, n.confidence AS confidence, n.mode AS mode,
  n.student AS student, n.line_json AS line_json, n.prompt_tokens AS prompt_tokens, n.latency_ms AS latency_ms,
  n.created_at AS created_at, n.snapshot AS snapshot
