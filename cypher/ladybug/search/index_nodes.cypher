// what: reads the concept that stands for each linked entity of a namespace
// parameters: namespace
// returns: one row an entity that refers to a concept: id, node
MATCH (n:Entity)-[:REFERS_TO]->(c:Concept)
WHERE n.namespace = $namespace
RETURN n.id AS id, CASE WHEN coalesce(c.cluster, '') = '' THEN c.id ELSE c.cluster END AS node
