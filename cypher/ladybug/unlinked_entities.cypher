// what: finds entities that refer to no concept yet, page by page
// parameters: namespace, after, limit
// returns: one row an entity, by id: id, text
MATCH (e:Entity)
WHERE e.namespace = $namespace AND e.id > $after AND NOT EXISTS { MATCH (e)-[:REFERS_TO]->(:Concept) }
RETURN e.id AS id, e.name AS text
ORDER BY id
LIMIT $limit
