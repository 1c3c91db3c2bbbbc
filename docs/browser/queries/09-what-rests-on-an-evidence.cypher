// 09 What rests on an evidence
// Its query and teacher call, the triples read from it, the simple edges made of those, and the answers that were shown it or them.
// Parameters: namespace, evidence_id
MATCH (e:Evidence {id: $evidence_id})
WHERE e.namespace = $namespace
OPTIONAL MATCH origin = (:Query)-[:HAS_EVIDENCE]->(e)-[:GENERATED_BY]->(:TeacherCall)
WITH e, collect(origin) AS origins
OPTIONAL MATCH triple = ()-[t:TRIPLE {namespace: $namespace, source_id: e.source_id}]->()
WHERE t.evidence_id = e.id
WITH e, origins, collect(triple) AS triples, collect(t.id) AS triple_ids
OPTIONAL MATCH edge = ()-[r:RELATED {namespace: $namespace, source_id: e.source_id}]->()
WHERE e.id IN r.evidence_ids
WITH e, origins, triples, triple_ids, collect(edge) AS simple_edges, collect(r.id) AS edge_ids
OPTIONAL MATCH answered = (a:Answer)-[:ANSWERS]->(:Query {id: e.source_id})
WHERE EXISTS { (a)-[:USED]->(e) } OR any(id IN a.edge_ids WHERE id IN edge_ids OR id IN triple_ids)
WITH e, origins, triples, simple_edges, collect(answered) AS answers
OPTIONAL MATCH used = (:Answer)-[:USED]->(e)
RETURN e AS evidence, origins, triples, simple_edges, answers, collect(used) AS used
