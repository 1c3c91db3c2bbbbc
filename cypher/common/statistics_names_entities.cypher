// what: reads the names of entities
// parameters: namespace, ids
// returns: one row an entity: id, name
UNWIND $ids AS id
MATCH (n:Entity {id: id})
WHERE n.namespace = $namespace
RETURN n.id AS id, coalesce(n.name, n.id) AS name
