// what: finds concepts that no entity refers to or whose number of entities is wrong. One that waits to be judged may have none: the
//     next `link` removes it
// parameters: namespace
// returns: one row a concept: id
MATCH (c:Concept)
WHERE c.namespace = $namespace
OPTIONAL MATCH (c)<-[r:REFERS_TO]-(:Entity)
WITH c.id AS id, c.cluster AS cluster, c.entities AS counted, count(r) AS number
WHERE counted IS NULL OR number <> counted OR (number = 0 AND cluster <> '')
RETURN id
