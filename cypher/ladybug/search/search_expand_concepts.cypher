// what: finds what an entity is called
// parameters: entity
// returns: one row a concept that it refers to: id, cluster
MATCH (n:Entity {id: $entity})-[:REFERS_TO]->(c:Concept)
RETURN c.id AS id, c.cluster AS cluster
