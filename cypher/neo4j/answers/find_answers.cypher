// what: pages through the namespace's answers. The prefix is no STARTS WITH, for the reason told in find_sources
// parameters: namespace, after, until (bounds of the ids, both excluded), prefix, limit
// returns: one row an answer: its properties; answered, used (the ids of the sources and of the evidence it is linked to)
MATCH (a:Answer)
USING INDEX SEEK a:Answer(namespace, id)
WHERE a.namespace = $namespace AND a.id > $after AND a.id < $until AND left(a.id, size($prefix)) = $prefix
WITH a
ORDER BY a.namespace, a.id
LIMIT $limit
RETURN
  a.id AS id, a.question AS question, a.`options` AS `options`, a.source_ids AS source_ids, a.text AS text, a.label AS label,
  a.gold AS gold, a.correct AS correct, a.confidence AS confidence, a.mode AS mode, a.student AS student,
  a.line_json AS line_json, a.prompt_tokens AS prompt_tokens, a.latency_ms AS latency_ms, a.created_at AS created_at,
  a.snapshot AS snapshot, [(a)-[:ANSWERS]->(s) | s.id] AS answered, [(a)-[:USED]->(e) | e.id] AS used
