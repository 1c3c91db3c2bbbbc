// what: finds the answers that are linked with a query
// parameters: namespace, source_id
// returns: one row an answer: id, line_json, snapshot
MATCH (a:Answer)-[:ANSWERS]->(:Query {id: $source_id})
WHERE a.namespace = $namespace
RETURN DISTINCT a.id AS id, a.line_json AS line_json, a.snapshot AS snapshot
