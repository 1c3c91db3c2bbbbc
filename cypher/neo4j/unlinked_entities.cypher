// what: finds entities that refer to no concept yet, page by page
// parameters: namespace, after (the last id of the page before), reached (by what that id is found in the index), limit
// returns: one row an entity: id, name
MATCH (e:Entity)
USING INDEX e:Entity(namespace, query_id)
WHERE
  e.namespace = $namespace AND e.query_id >= $reached AND (e.query_id > $reached OR e.id > $after) AND NOT EXISTS { (e)-[:REFERS_TO]->() }
WITH e
ORDER BY e.namespace, e.query_id, e.id
LIMIT $limit
RETURN e.id AS id, e.name AS name
