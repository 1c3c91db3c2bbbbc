// what: finds concepts that no entity refers to or whose number of entities is wrong. Those that only keep a judgement are right
// parameters: namespace
// returns: one row a concept: id
MATCH (c:Concept)
WHERE c.namespace = $namespace
OPTIONAL MATCH (c)<-[r:REFERS_TO]-(:Entity)
WITH c.id AS id, c.name AS name, c.entities AS counted, count(r) AS number
WHERE counted IS NULL OR number <> counted OR (number = 0 AND name <> '')
RETURN id
