// what: reads the answers that say they are to any of these sources, whether they are linked to it or that link was lost
// parameters: namespace, source_ids
// returns: one row an answer: id
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.id IS NOT NULL
UNWIND a.source_ids AS source_id
WITH a, source_id
WHERE source_id IN $source_ids
RETURN DISTINCT a.id AS id
