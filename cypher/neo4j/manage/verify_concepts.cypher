// what: finds concepts that no entity refers to or whose number of entities is wrong. One that waits to be judged may have none: the
//     next `link` removes it
// parameters: namespace
// returns: one row a concept: id
MATCH (c:Concept)
USING INDEX SEEK c:Concept(namespace, cluster)
WHERE c.namespace = $namespace AND c.cluster IS NOT NULL
WITH c, COUNT { (c)<-[:REFERS_TO]-() } AS number
WHERE number <> coalesce(c.entities, -1) OR (number = 0 AND c.cluster <> '')
RETURN c.id AS id
