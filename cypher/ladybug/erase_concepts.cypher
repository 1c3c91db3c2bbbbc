// what: finds of these concepts those whose number of entities is no longer what they say
// parameters: namespace, concept_ids
// returns: one row a concept: id, cluster, entities
UNWIND $concept_ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace
OPTIONAL MATCH (e:Entity)-[:REFERS_TO]->(c)
WITH c.id AS id, c.cluster AS cluster, c.entities AS counted, count(e.id) AS entities
WHERE entities = 0 OR counted IS NULL OR entities <> counted
RETURN id, cluster, entities
