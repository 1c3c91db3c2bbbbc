// what: reads which calls made the evidence of a source (OPTIONAL MATCH in the statement that reads this takes as long again)
// parameters: namespace, source_id
// returns: one row an evidence and call: id, call_id
MATCH (q:Source {id: $source_id})-[:HAS_EVIDENCE]->(e:Evidence)-[:GENERATED_BY]->(c:TeacherCall)
WHERE q.namespace = $namespace
RETURN e.id AS id, c.id AS call_id
