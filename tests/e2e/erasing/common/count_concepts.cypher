// what: counts the entities of each concept of a namespace
// parameters: namespace
// returns: nothing
MATCH (e:Entity)-[:REFERS_TO]->(c:Concept)
WHERE c.namespace = $namespace
WITH c, count(e) AS number
SET c.entities = number
