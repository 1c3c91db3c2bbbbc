// what: finds the simple edges that begin at any of these entities
// parameters: entities
// returns: one row an edge: id, source_id, confidence, subject_id, object_id
UNWIND $entities AS id
MATCH (s:Entity {id: id})-[r:RELATED]->(o:Entity)
RETURN r.id AS id, r.source_id AS source_id, r.confidence AS confidence, s.id AS subject_id, o.id AS object_id
