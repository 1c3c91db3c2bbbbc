// what: reads the simple edges that begin at an entity (after an UNWIND of ids, the engine reads all relationships of the store)
// parameters: subject_id
// returns: one row an edge, in no order: its properties, its ends and source_id
MATCH (s:Entity {id: $subject_id})-[r:RELATED]->(o:Entity)
RETURN
  r.source_id AS source_id, r.id AS id, r.statement AS statement, r.predicates AS predicates, r.confidence AS confidence,
  r.support AS support, r.triple_ids AS triple_ids, r.evidence_ids AS evidence_ids, r.contradicts AS contradicts,
  r.rank AS rank, s.id AS subject_id, s.name AS subject, o.id AS object_id, o.name AS object
