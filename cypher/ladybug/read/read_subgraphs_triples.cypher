// what: reads the multigraph of a source
// parameters: namespace, source_id
// returns: one row a triple, in no order: its properties and its ends
MATCH (q:Source {id: $source_id})-[:MENTIONS]->(s:Entity)-[t:TRIPLE]->(o:Entity)
WHERE q.namespace = $namespace
RETURN
  t.id AS id, t.predicate AS predicate, t.predicate_key AS predicate_key, t.confidence AS confidence,
  t.evidence_id AS evidence_id, t.call_ids AS call_ids, t.rank AS rank, t.opposes AS opposes,
  s.id AS subject_id, s.name AS subject,
  o.id AS object_id, o.name AS object
