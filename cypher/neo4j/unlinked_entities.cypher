// what: finds entities that refer to no concept yet, page by page
// parameters: namespace, reached, after (query and id of the last one of the page before), limit
// returns: one row an entity: id, text, reached
MATCH (e:Entity)
USING INDEX SEEK e:Entity(namespace, source_id)
WHERE e.namespace = $namespace AND e.source_id >= $reached
  AND CASE WHEN e.source_id > $reached THEN true ELSE e.id > $after END
  AND NOT EXISTS { (e)-[:REFERS_TO]->() }
WITH e
ORDER BY e.namespace, e.source_id, e.id
LIMIT $limit
RETURN e.id AS id, e.name AS text, e.source_id AS reached
