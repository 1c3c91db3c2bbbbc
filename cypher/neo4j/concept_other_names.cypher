// what: reads the other names of linked entities, page by page
// parameters: namespace, after, limit
// returns: one row an entity that has variants, by id: entity, concept (ids), variants
MATCH (e:Entity)
USING INDEX e:Entity(id)
WHERE e.id > $after AND e.namespace = $namespace AND size(e.variants) > 0
MATCH (e)-[:REFERS_TO]->(c:Concept)
RETURN e.id AS entity, c.id AS concept, e.variants AS variants
ORDER BY entity
LIMIT $limit
