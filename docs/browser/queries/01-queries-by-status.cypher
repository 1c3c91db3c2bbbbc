// 01 Queries by status
// One row a query: status (complete, quarantined ...), what its graph is made of, how much hangs on it, how often it was answered.
// Parameters: namespace
MATCH (q:Query)
WHERE q.namespace = $namespace
RETURN q.status AS status, q.text AS question, q.graph AS graph,
  COUNT { (q)-[:HAS_EVIDENCE]->(e:Evidence WHERE e.kept) } AS kept_evidence,
  COUNT { (q)-[:MENTIONS]->() } AS entities,
  COUNT { MATCH ()-[t:TRIPLE {namespace: $namespace, source_id: q.id}]->() } AS triples,
  COUNT { MATCH ()-[r:RELATED {namespace: $namespace, source_id: q.id}]->() } AS simple_edges,
  COUNT { (:Answer)-[:ANSWERS]->(q) } AS answers,
  q.created_at AS created_at, q.id AS source_id
ORDER BY status, question
