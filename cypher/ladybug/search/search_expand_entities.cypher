// what: finds entities that refer to any of these concepts
// parameters: concepts, limit
// returns: at most limit rows, in the engine's order: id
UNWIND $concepts AS id
MATCH (c:Concept {id: id})<-[:REFERS_TO]-(n:Entity)
RETURN n.id AS id
LIMIT $limit
