// what: finds entities that refer to no concept yet, page by page
// parameters: namespace, after, limit
// returns: one row an entity, by id: id, name
MATCH (e:Entity)
USING INDEX e:Entity(id)
WHERE e.id > $after AND e.namespace = $namespace AND NOT EXISTS { (e)-[:REFERS_TO]->() }
RETURN e.id AS id, e.name AS name
ORDER BY id
LIMIT $limit
