// what: finds the answers that say they are to any of these queries
// parameters: namespace, query_ids
// returns: one row an answer and query: id, query_id
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.id IS NOT NULL
UNWIND a.query_ids AS query_id
WITH a, query_id
WHERE query_id IN $query_ids
RETURN a.id AS id, query_id
