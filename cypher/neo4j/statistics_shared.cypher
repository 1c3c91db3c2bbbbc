// what: finds the things (clusters of concepts, or concepts by themselves) that are in most queries, in two at least
// parameters: namespace, limit
// returns: one row a thing, most queries first: id, queries, entities
MATCH (e:Entity)-[:REFERS_TO]->(c:Concept)
USING INDEX SEEK c:Concept(namespace, cluster)
WHERE c.namespace = $namespace AND c.cluster IS NOT NULL
WITH CASE WHEN c.cluster = '' THEN c.id ELSE c.cluster END AS id, e.source_id AS source_id, e.id AS entity_id
WITH id, count(DISTINCT source_id) AS queries, count(DISTINCT entity_id) AS entities
WHERE queries > 1
RETURN id, queries, entities
ORDER BY queries DESC, id
LIMIT $limit
