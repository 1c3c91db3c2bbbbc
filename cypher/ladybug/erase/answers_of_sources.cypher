// what: reads the answers to these sources
// parameters: namespace, source_ids
// returns: one row an answer: id, line_json, snapshot
UNWIND $source_ids AS source_id
MATCH (a:Answer)-[:ANSWERS]->(:Query|Document {id: source_id})
WHERE a.namespace = $namespace
RETURN DISTINCT a.id AS id, a.line_json AS line_json, a.snapshot AS snapshot
