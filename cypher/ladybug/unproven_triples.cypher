// what: finds triples without a stored evidence or teacher call of their own query: none, unless somebody tampered (promise 4)
// parameters: namespace
// returns: one row a triple, by id: id
MATCH ()-[t:TRIPLE]->()
WHERE t.namespace = $namespace
WITH t.id AS id, t.source_id AS source_id, t.evidence_id AS evidence_id, t.call_id AS call_id
OPTIONAL MATCH (e:Evidence {id: evidence_id})
OPTIONAL MATCH (c:TeacherCall {id: call_id})
WITH id, source_id, e.source_id AS evidence_of, c.source_id AS call_of
WHERE evidence_of IS NULL OR call_of IS NULL OR evidence_of <> source_id OR call_of <> source_id
RETURN id
ORDER BY id
