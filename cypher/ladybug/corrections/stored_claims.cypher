// what: reads the claims of the namespace
// parameters: namespace
// returns: one row a triple, in no order: source_id, subject_id, subject, predicate, predicate_key, object_id, object (of its claim)
MATCH (s:Entity)-[t:TRIPLE]->(o:Entity)
WHERE t.namespace = $namespace
RETURN
  t.source_id AS source_id, s.id AS subject_id, s.name AS subject, t.predicate AS predicate, t.predicate_key AS predicate_key,
  o.id AS object_id, o.name AS object
