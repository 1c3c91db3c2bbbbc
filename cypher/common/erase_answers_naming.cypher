// what: finds the answers that say they are to any of these queries
// parameters: namespace, source_ids
// returns: one row an answer and query: id, source_id
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.id IS NOT NULL
UNWIND a.source_ids AS source_id
WITH a, source_id
WHERE source_id IN $source_ids
RETURN a.id AS id, source_id
