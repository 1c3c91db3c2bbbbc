// what: opens the clusters of the concepts that others were judged to be the same as
// parameters: namespace, concept_ids
// returns: nothing
UNWIND $concept_ids AS id
MATCH (c:Concept {id: id})-[:SAME_AS]-(other:Concept)
WHERE c.namespace = $namespace
SET other.cluster = ''
