// what: says anew what a query's graph is made of, and which calls it has, when parts of it were erased
// parameters: namespace, source_id, calls, graph, expires_at (empty: as it was)
// returns: nothing
MATCH (q:Query {id: $source_id})
WHERE q.namespace = $namespace
SET q.call_ids = $calls, q.graph = $graph, q.expires_at = CASE $expires_at WHEN '' THEN q.expires_at ELSE $expires_at END
