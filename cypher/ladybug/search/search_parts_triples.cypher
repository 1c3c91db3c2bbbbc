// what: reads the triples between pairs of entities
// parameters: pairs (maps of subject_id and object_id)
// returns: one row a triple, in no order: its properties, its ends and source_id
UNWIND $pairs AS p
MATCH (s:Entity {id: p.subject_id})
MATCH (o:Entity {id: p.object_id})
MATCH (s)-[t:TRIPLE]->(o)
RETURN
  t.source_id AS source_id, t.id AS id, t.predicate AS predicate, t.predicate_key AS predicate_key, t.confidence AS confidence,
  t.evidence_id AS evidence_id, t.call_ids AS call_ids, t.rank AS rank, t.opposes AS opposes,
  s.id AS subject_id, s.name AS subject, o.id AS object_id, o.name AS object
