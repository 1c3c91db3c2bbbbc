// 05 Best supported edges
// The 25 simple edges of the namespace that merge the most triples (then the most confident), with their evidence.
// Parameters: namespace
MATCH (s:Entity)-[r:RELATED]->(o:Entity)
WHERE r.namespace = $namespace
WITH s, r, o
ORDER BY r.support DESC, r.confidence DESC, r.id
LIMIT 25
MATCH (q:Query {id: r.source_id})
RETURN r.support AS support, r.confidence AS confidence, r.statement AS statement, r.predicates AS predicates,
  COLLECT { MATCH (e:Evidence) WHERE e.id IN r.evidence_ids RETURN e.text ORDER BY e.rank } AS evidence,
  q.text AS question, q.id AS source_id, r.id AS edge_id
ORDER BY support DESC, confidence DESC, edge_id
