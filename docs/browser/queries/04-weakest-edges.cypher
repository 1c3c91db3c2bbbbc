// 04 Weakest edges
// The 25 simple edges of the namespace with the least confidence (then the least support), with the evidence to judge them by.
// Parameters: namespace
MATCH (s:Entity)-[r:RELATED]->(o:Entity)
WHERE r.namespace = $namespace
WITH s, r, o
ORDER BY r.confidence, r.support, r.id
LIMIT 25
MATCH (q:Query {id: r.source_id})
RETURN r.confidence AS confidence, r.support AS support, r.statement AS statement,
  COLLECT { MATCH (e:Evidence) WHERE e.id IN r.evidence_ids RETURN e.text ORDER BY e.rank } AS evidence,
  q.text AS question, q.id AS source_id, r.id AS edge_id
ORDER BY confidence, support, edge_id
