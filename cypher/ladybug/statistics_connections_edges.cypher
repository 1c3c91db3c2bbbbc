// what: the simple edges of a query between its entities
// parameters: query_id
// returns: one row an edge: source, target, confidence, evidence_ids
MATCH (q:Query {id: $query_id})-[:MENTIONS]->(s:Entity)-[r:RELATED]->(o:Entity)
RETURN s.id AS source, o.id AS target, r.confidence AS confidence, r.evidence_ids AS evidence_ids
