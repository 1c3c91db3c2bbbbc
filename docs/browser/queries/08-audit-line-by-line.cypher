// 8 Audit an answer, line by line
// One row a triple of a shown edge, and a shown evidence: which statement it is from, which teacher call made it, at what price.
// Parameters: namespace, answer_id
MATCH (a:Answer {id: $answer_id})
WHERE a.namespace = $namespace
CALL (a) {
  UNWIND a.evidence_ids AS id
  MATCH (e:Evidence {id: id})-[:GENERATED_BY]->(c:TeacherCall)
  RETURN 'evidence' AS kind, e.text AS shown, null AS triple, e.score AS confidence, e, c
  UNION ALL
  WITH a
  UNWIND a.edge_ids AS id
  OPTIONAL MATCH ()-[r:RELATED {id: id}]->()
  UNWIND coalesce(r.triple_ids, [id]) AS triple_id
  MATCH (s)-[t:TRIPLE {id: triple_id}]->(o)
  MATCH (e:Evidence {id: t.evidence_id})
  MATCH (c:TeacherCall {id: t.call_id})
  RETURN 'edge' AS kind, coalesce(r.statement, s.name + ' ' + t.predicate + ' ' + o.name) AS shown,
    '[' + s.name + '] ' + t.predicate + ' [' + o.name + ']' AS triple, t.confidence AS confidence, e, c
}
RETURN kind, shown, triple, confidence, e.text AS evidence, e.rank AS rank, c.model AS model, c.stage AS stage,
  c.tokens_in AS tokens_in, c.tokens_out AS tokens_out, c.cost_usd AS cost_usd, e.id AS evidence_id, c.id AS call_id
ORDER BY kind, shown, triple
