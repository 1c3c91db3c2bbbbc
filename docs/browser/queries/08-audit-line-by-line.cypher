// 08 Audit line by line
// One row a shown evidence, and one a triple of each shown edge: the evidence behind it, the teacher calls that made it, their price.
// What a later refresh has taken away has no row here; the record kept with the answer has it: drag-graph audit ANSWER_ID.
// Parameters: namespace, answer_id
MATCH (a:Answer {id: $answer_id})
WHERE a.namespace = $namespace
CALL (a) {
  UNWIND range(0, size(a.evidence_ids) - 1) AS position
  MATCH (e:Evidence {id: a.evidence_ids[position]})
  RETURN 0 AS part, position, 'evidence' AS kind, e.text AS shown, null AS edge, null AS t, e,
    COLLECT { MATCH (e)-[:GENERATED_BY]->(c:TeacherCall) RETURN c ORDER BY c.id } AS calls
  UNION ALL
  WITH a
  UNWIND range(0, size(a.edge_ids) - 1) AS position
  OPTIONAL MATCH ()-[r:RELATED {id: a.edge_ids[position]}]->()
  // Where the raw triples were shown (no edge was confident enough), edge_ids are the ids of triples.
  UNWIND coalesce(r.triple_ids, [a.edge_ids[position]]) AS triple_id
  MATCH (s)-[t:TRIPLE {id: triple_id}]->(o)
  MATCH (e:Evidence {id: t.evidence_id})
  RETURN 1 AS part, position, 'triple' AS kind, s.name + ' ' + t.predicate + ' ' + o.name AS shown, r.statement AS edge, t, e,
    COLLECT { UNWIND t.call_ids AS id MATCH (c:TeacherCall {id: id}) RETURN c ORDER BY c.id } AS calls
}
RETURN kind, shown, t.confidence AS confidence, CASE WHEN t IS NOT NULL THEN e.text END AS read_from, e.score AS evidence_score,
  [c IN calls | c.model] AS models, [c IN calls | c.stage] AS stages, reduce(sum = 0, c IN calls | sum + c.tokens_in) AS tokens_in,
  reduce(sum = 0, c IN calls | sum + c.tokens_out) AS tokens_out, reduce(sum = 0.0, c IN calls | sum + c.cost_usd) AS cost_usd,
  edge AS merged_into, e.id AS evidence_id, [c IN calls | c.id] AS call_ids
ORDER BY part, position, confidence DESC, t.id
