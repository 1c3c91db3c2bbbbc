// what: reads the simple edges between pairs of entities
// parameters: pairs (maps of subject_id and object_id)
// returns: one row an edge, in no order: its properties, its ends and source_id
UNWIND $pairs AS p
MATCH (s:Entity {id: p.subject_id})
MATCH (o:Entity {id: p.object_id})
MATCH (s)-[r:RELATED]->(o)
RETURN
  r.source_id AS source_id, r.id AS id, r.statement AS statement, r.predicates AS predicates, r.confidence AS confidence,
  r.support AS support, r.triple_ids AS triple_ids, r.evidence_ids AS evidence_ids, r.contradicts AS contradicts,
  r.rank AS rank, s.id AS subject_id, s.name AS subject, o.id AS object_id, o.name AS object
