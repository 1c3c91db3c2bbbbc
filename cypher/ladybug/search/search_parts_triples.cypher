// what: reads the triples that begin at an entity (after an UNWIND of ids, the engine reads all relationships of the store)
// parameters: subject_id
// returns: one row a triple, in no order: its properties, its ends and source_id
MATCH (s:Entity {id: $subject_id})-[t:TRIPLE]->(o:Entity)
RETURN
  t.source_id AS source_id, t.id AS id, t.predicate AS predicate, t.predicate_key AS predicate_key, t.confidence AS confidence,
  t.evidence_id AS evidence_id, t.call_ids AS call_ids, t.rank AS rank, t.opposes AS opposes,
  s.id AS subject_id, s.name AS subject, o.id AS object_id, o.name AS object
