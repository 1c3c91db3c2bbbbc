// what: reads all relationships TRIPLE of the namespace
// parameters: namespace
// returns: one row a relationship: source, target and its properties
MATCH (s:Entity)-[r:TRIPLE]->(o:Entity)
WHERE r.namespace = $namespace
RETURN
  s.id AS source, o.id AS target, r.id AS id, r.namespace AS namespace, r.source_id AS source_id,
  r.predicate AS predicate, r.predicate_key AS predicate_key, r.confidence AS confidence, r.evidence_id AS evidence_id,
  r.call_ids AS call_ids, r.rank AS rank, r.opposes AS opposes
