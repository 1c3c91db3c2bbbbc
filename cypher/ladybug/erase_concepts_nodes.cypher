// what: erases concepts with the vectors and judgements on them
// parameters: namespace, concept_ids
// returns: nothing
UNWIND $concept_ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace
DETACH DELETE c
