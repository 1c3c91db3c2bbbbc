// what: finds concepts that no entity refers to or whose number of entities is wrong
// parameters: namespace
// returns: one row a concept: id
MATCH (c:Concept)
WHERE c.namespace = $namespace
OPTIONAL MATCH (c)<-[r:REFERS_TO]-(:Entity)
WITH c.id AS id, c.entities AS counted, count(r) AS number
WHERE number = 0 OR number <> counted
RETURN id
