// what: walks from the ids of shown evidence of a query to the teacher calls that made it
// parameters: namespace, source_id, refs
// returns: one row an evidence that is stored: evidence_id, evidence_text, call_id, model
MATCH (q:Query {id: $source_id})-[:HAS_EVIDENCE]->(e:Evidence)-[:GENERATED_BY]->(c:TeacherCall)
WHERE q.namespace = $namespace AND list_contains($refs, e.id)
RETURN e.id AS evidence_id, e.text AS evidence_text, c.id AS call_id, c.model AS model
