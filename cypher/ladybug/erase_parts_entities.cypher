// what: erases nodes Entity of a query, with their relationships
// parameters: namespace, source_id, ids
// returns: nothing
UNWIND $ids AS id
MATCH (n:Entity {id: id})
WHERE n.namespace = $namespace AND n.source_id = $source_id
DETACH DELETE n
