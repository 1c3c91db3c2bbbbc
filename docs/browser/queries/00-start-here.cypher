// 00 Start here
// Sets the four parameters that the other queries use: the newest query of the namespace, its newest answer, and the evidence
// that is ranked first. For another namespace, change 'default' here. For another query, answer or evidence, set one by hand:
//   :param source_id => '...'
//   :param answer_id => '...'
//   :param evidence_id => '...'
:param [{namespace, source_id, answer_id, evidence_id}] => {
  MATCH (q:Query)
  WHERE q.namespace = 'default'
  OPTIONAL MATCH (a:Answer)-[:ANSWERS]->(q)
  WITH q, a
  ORDER BY a IS NULL, q.created_at DESC, a.created_at DESC
  LIMIT 1
  OPTIONAL MATCH (q)-[:HAS_EVIDENCE]->(e:Evidence)
  WITH q, a, e
  ORDER BY e.rank
  LIMIT 1
  RETURN q.namespace AS namespace, q.id AS source_id, a.id AS answer_id, e.id AS evidence_id
}
