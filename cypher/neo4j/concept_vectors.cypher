// what: reads the vectors of concepts
// parameters: namespace, concept_ids
// returns: one row a concept that has one: id, embedding
UNWIND $concept_ids AS id
MATCH (c:Concept {id: id})
USING INDEX SEEK c:Concept(id)
WHERE c.namespace = $namespace AND c.embedding IS NOT NULL
RETURN c.id AS id, c.embedding AS embedding
