// what: reads concepts
// parameters: namespace, concept_ids
// returns: one row a concept that is there: id, key, name, entities, cluster
UNWIND $concept_ids AS id
MATCH (c:Concept {id: id})
USING INDEX SEEK c:Concept(id)
WHERE c.namespace = $namespace
RETURN c.id AS id, c.key AS key, c.name AS name, coalesce(c.entities, 0) AS entities, c.cluster AS cluster
