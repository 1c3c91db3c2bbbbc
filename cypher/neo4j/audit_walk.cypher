// what: walks from shown lines, given as lists (n, kind, ref), to what is stored behind them now
// parameters: namespace, lines
// returns: one row a triple of a shown edge and a shown evidence, in the order of the lines: ref, kind, triple_id, evidence_id,
//     evidence_text, call_id, model
UNWIND $lines AS line
CALL (line) {
  WITH line WHERE line[1] = 'evidence'
  MATCH (e:Evidence {id: line[2]})-[:GENERATED_BY]->(c:TeacherCall)
  USING INDEX SEEK e:Evidence(id)
  WHERE e.namespace = $namespace
  RETURN '' AS triple_id, 0 AS rank, e, c
  UNION
  WITH line WHERE line[1] = 'edge'
  OPTIONAL MATCH ()-[r:RELATED {id: line[2]}]->()
  USING INDEX SEEK r:RELATED(id)
  UNWIND coalesce(r.triple_ids, [line[2]]) AS id
  MATCH ()-[t:TRIPLE {id: id}]->()
  USING INDEX SEEK t:TRIPLE(id)
  WHERE t.namespace = $namespace
  MATCH (e:Evidence {id: t.evidence_id})
  USING INDEX SEEK e:Evidence(id)
  MATCH (c:TeacherCall {id: t.call_id})
  USING INDEX SEEK c:TeacherCall(id)
  RETURN t.id AS triple_id, t.rank AS rank, e, c
}
RETURN line[2] AS ref, line[1] AS kind, triple_id, e.id AS evidence_id, e.text AS evidence_text, c.id AS call_id, c.model AS model
ORDER BY line[0], rank, triple_id
