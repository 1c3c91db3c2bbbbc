// what: reads which concept each entity refers to
// parameters: namespace
// returns: one row a relationship: type, source, target
MATCH (e:Entity)-[r:REFERS_TO]->(c:Concept)
WHERE r.namespace = $namespace
RETURN 'REFERS_TO' AS type, e.id AS source, c.id AS target
