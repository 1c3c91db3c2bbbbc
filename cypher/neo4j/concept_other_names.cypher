// what: reads the other names of linked entities, page by page
// parameters: namespace, reached, after (query and id of the last entity of the page before), limit
// returns: one row an entity that has variants: entity, concept (ids), variants, reached
MATCH (e:Entity)
USING INDEX SEEK e:Entity(namespace, query_id)
WHERE e.namespace = $namespace AND e.query_id >= $reached
  AND CASE WHEN e.query_id > $reached THEN true ELSE e.id > $after END
  AND size(e.variants) > 0
MATCH (e)-[:REFERS_TO]->(c:Concept)
WITH e, c
ORDER BY e.namespace, e.query_id, e.id
LIMIT $limit
RETURN e.id AS entity, c.id AS concept, e.variants AS variants, e.query_id AS reached
