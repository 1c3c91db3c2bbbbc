// what: finds how the entities of concepts write their names
// parameters: namespace, concept_ids
// returns: one row a concept and way to write it: id, name (the concept's), written
UNWIND $concept_ids AS id
MATCH (c:Concept {id: id})<-[:REFERS_TO]-(e:Entity)
WHERE c.namespace = $namespace
RETURN DISTINCT c.id AS id, c.name AS name, e.name AS written
