// what: reads the simple edges of a source
// parameters: namespace, source_id
// returns: one row an edge, in no order: its properties and its ends
MATCH (q:Source {id: $source_id})-[:MENTIONS]->(s:Entity)-[r:RELATED]->(o:Entity)
WHERE q.namespace = $namespace
RETURN
  r.id AS id, r.statement AS statement, r.predicates AS predicates, r.confidence AS confidence, r.support AS support,
  r.triple_ids AS triple_ids, r.evidence_ids AS evidence_ids, r.contradicts AS contradicts, r.rank AS rank,
  s.id AS subject_id, s.name AS subject,
  o.id AS object_id, o.name AS object
