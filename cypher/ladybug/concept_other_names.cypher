// what: reads the other names of linked entities
// parameters: namespace
// returns: one row an entity that has variants: concept (id), variants
MATCH (e:Entity)-[:REFERS_TO]->(c:Concept)
WHERE e.namespace = $namespace AND size(e.variants) > 0
RETURN c.id AS concept, e.variants AS variants
