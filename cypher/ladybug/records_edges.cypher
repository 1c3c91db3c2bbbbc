// what: reads all relationships RELATED of the namespace
// parameters: namespace
// returns: one row a relationship: source, target and its properties
MATCH (s:Entity)-[r:RELATED]->(o:Entity)
WHERE r.namespace = $namespace
RETURN
  s.id AS source, o.id AS target, r.id AS id, r.namespace AS namespace, r.source_id AS source_id,
  r.statement AS statement, r.predicates AS predicates, r.confidence AS confidence, r.support AS support,
  r.triple_ids AS triple_ids, r.evidence_ids AS evidence_ids, r.contradicts AS contradicts, r.rank AS rank
