// what: the relationships to and between the nodes that no query owns
// parameters: namespace
// returns: one row a relationship: type, source, target (ids), properties
MATCH (a)-[r:FROM_CHUNK|PART_OF|REFERS_TO]->(b)
WHERE a.namespace = $namespace AND b.namespace = $namespace
RETURN type(r) AS type, a.id AS source, b.id AS target, properties(r) AS properties
