// what: finds entities that refer to a concept
// parameters: concept, limit
// returns: at most limit rows, in the engine's order: id
MATCH (c:Concept {id: $concept})<-[:REFERS_TO]-(n:Entity)
RETURN n.id AS id
LIMIT $limit
