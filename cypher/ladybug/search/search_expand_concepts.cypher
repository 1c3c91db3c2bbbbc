// what: finds what an entity is called
// parameters: entities
// returns: one row an entity that refers to a concept: entity, id (the concept's), cluster
UNWIND $entities AS id
MATCH (n:Entity {id: id})-[:REFERS_TO]->(c:Concept)
RETURN n.id AS entity, c.id AS id, c.cluster AS cluster
