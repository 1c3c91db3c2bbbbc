// what: finds the things (clusters of concepts, or concepts by themselves) that are in most queries
// parameters: namespace, limit
// returns: one row a thing, most queries first: id, queries, entities
MATCH (e:Entity)-[:REFERS_TO]->(c:Concept)
WHERE c.namespace = $namespace
WITH CASE WHEN c.cluster IS NULL OR c.cluster = '' THEN c.id ELSE c.cluster END AS id, e.query_id AS query_id, e.id AS entity_id
RETURN id, count(DISTINCT query_id) AS queries, count(DISTINCT entity_id) AS entities
ORDER BY queries DESC, id
LIMIT $limit
