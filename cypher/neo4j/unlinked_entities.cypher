// what: finds entities that refer to no concept yet, page by page
// parameters: namespace, reached, after (query and id of the last one of the page before), limit
// returns: one row an entity: id, text, reached
MATCH (e:Entity)
USING INDEX SEEK e:Entity(namespace, query_id)
WHERE e.namespace = $namespace AND e.query_id >= $reached
  AND CASE WHEN e.query_id > $reached THEN true ELSE e.id > $after END
  AND NOT EXISTS { (e)-[:REFERS_TO]->() }
WITH e
ORDER BY e.namespace, e.query_id, e.id
LIMIT $limit
RETURN e.id AS id, e.name AS text, e.query_id AS reached
