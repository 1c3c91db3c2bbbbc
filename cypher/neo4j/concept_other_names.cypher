// what: reads the other names of linked entities, page by page
// parameters: namespace, reached, after (query and id of the last entity of the page before), limit
// returns: one row an entity that has variants: entity, concept (ids), variants, reached
MATCH (e:Entity)
USING INDEX SEEK e:Entity(namespace, source_id)
WHERE e.namespace = $namespace AND e.source_id >= $reached
  AND CASE WHEN e.source_id > $reached THEN true ELSE e.id > $after END
  AND size(e.variants) > 0
MATCH (e)-[:REFERS_TO]->(c:Concept)
WITH e, c
ORDER BY e.namespace, e.source_id, e.id
LIMIT $limit
RETURN e.id AS entity, c.id AS concept, e.variants AS variants, e.source_id AS reached
