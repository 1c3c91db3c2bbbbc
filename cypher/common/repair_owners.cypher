// what: finds the queries of entities
// parameters: namespace, ids
// returns: one row a query: id
UNWIND $ids AS id
MATCH (n:Entity {id: id})
WHERE n.namespace = $namespace
RETURN DISTINCT n.source_id AS id
