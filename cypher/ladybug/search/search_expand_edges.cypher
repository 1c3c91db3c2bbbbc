// what: finds the simple edges of an entity. One statement an entity: of a list of ids the engine makes a join with all edges
// parameters: entity
// returns: one row an edge: id, source_id, confidence, subject_id, object_id (the two ends, in no order)
MATCH (n:Entity {id: $entity})-[r:RELATED]-(o:Entity)
RETURN r.id AS id, r.source_id AS source_id, r.confidence AS confidence, n.id AS subject_id, o.id AS object_id
