// what: finds concepts that no entity refers to or whose number of entities is wrong
// parameters: namespace
// returns: one row a concept: id
MATCH (c:Concept)
WHERE c.namespace = $namespace AND c.cluster IS NOT NULL
WITH c, COUNT { (c)<-[:REFERS_TO]-() } AS number
WHERE number = 0 OR number <> c.entities
RETURN c.id AS id
