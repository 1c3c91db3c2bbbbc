// what: finds the answers that rest on a query
// parameters: namespace, query_id
// returns: one row an answer: id, line_json, snapshot
MATCH (a:Answer)
WHERE a.namespace = $namespace AND list_contains(a.query_ids, $query_id)
RETURN a.id AS id, a.line_json AS line_json, a.snapshot AS snapshot
