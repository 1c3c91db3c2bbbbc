// what: finds triples without a stored evidence or without a stored teacher call of their own source: none, unless somebody
//     tampered (promise 4)
// parameters: namespace
// returns: one row a triple: id
MATCH ()-[t:TRIPLE]->()
WHERE t.namespace = $namespace
WITH t.id AS id, t.source_id AS source_id, t.evidence_id AS evidence_id, t.call_ids AS call_ids
OPTIONAL MATCH (e:Evidence {id: evidence_id})
WITH id, source_id, e.source_id AS evidence_of, call_ids
WHERE evidence_of IS NULL OR evidence_of <> source_id OR size(call_ids) = 0
RETURN id
UNION
MATCH ()-[t:TRIPLE]->()
WHERE t.namespace = $namespace
UNWIND t.call_ids AS call_id
WITH t.id AS id, t.source_id AS source_id, call_id
OPTIONAL MATCH (c:TeacherCall {id: call_id})
WITH id, source_id, c.source_id AS call_of
WHERE call_of IS NULL OR call_of <> source_id
RETURN id
