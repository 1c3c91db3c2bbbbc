// 07 Audit an answer
// Answer -> shown evidence -> teacher call, and shown edges -> their triples -> evidence -> teacher call, as stored now. What the
// answer was shown when it was given is kept in the answer itself: drag-graph audit ANSWER_ID.
// Parameters: namespace, answer_id
MATCH (a:Answer {id: $answer_id})
WHERE a.namespace = $namespace
OPTIONAL MATCH answers = (a)-[:ANSWERS]->(:Source)
WITH a, collect(answers) AS queries
OPTIONAL MATCH used = (a)-[:USED]->(:Evidence)-[:GENERATED_BY]->(:TeacherCall)
WITH a, queries, collect(used) AS used_evidence
OPTIONAL MATCH edge = (:Entity)-[r:RELATED]->(:Entity)
WHERE r.id IN a.edge_ids AND r.namespace = $namespace
WITH a, queries, used_evidence, collect(edge) AS edges, collect(r) AS shown
// Where the raw triples were shown (no edge was confident enough), edge_ids are the ids of triples.
WITH *, a.edge_ids + reduce(ids = [], r IN shown | ids + r.triple_ids) AS triple_ids
OPTIONAL MATCH triple = (:Entity)-[t:TRIPLE]->(:Entity)
WHERE t.id IN triple_ids AND t.namespace = $namespace
OPTIONAL MATCH (e:Evidence {id: t.evidence_id})
OPTIONAL MATCH made = (e)-[:GENERATED_BY]->(:TeacherCall)
OPTIONAL MATCH (c:TeacherCall) WHERE c.id IN t.call_ids
RETURN a AS answer, queries, used_evidence, edges, collect(DISTINCT triple) AS triples, collect(DISTINCT made) AS their_evidence,
  collect(DISTINCT c) AS their_calls
