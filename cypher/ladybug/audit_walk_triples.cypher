// what: walks from the ids of triples of a query to their evidence and teacher calls
// parameters: namespace, source_id, triple_ids
// returns: one row a triple: triple_id, rank, evidence_id, evidence_text, call_id, model
MATCH (q:Query {id: $source_id})-[:MENTIONS]->(:Entity)-[t:TRIPLE]->(:Entity)
WHERE q.namespace = $namespace AND list_contains($triple_ids, t.id)
WITH t
MATCH (e:Evidence {id: t.evidence_id})
MATCH (c:TeacherCall {id: t.call_id})
RETURN t.id AS triple_id, t.rank AS rank, e.id AS evidence_id, e.text AS evidence_text, c.id AS call_id, c.model AS model
