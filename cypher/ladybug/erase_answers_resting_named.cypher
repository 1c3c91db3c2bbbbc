// what: finds answers by id
// parameters: namespace, answer_ids
// returns: one row an answer that is there: id, line_json, snapshot
UNWIND $answer_ids AS id
MATCH (a:Answer {id: id})
WHERE a.namespace = $namespace
RETURN a.id AS id, a.line_json AS line_json, a.snapshot AS snapshot
