// what: erases nodes Evidence of a query, with their relationships
// parameters: namespace, query_id, ids
// returns: nothing
UNWIND $ids AS id
MATCH (n:Evidence {id: id})
WHERE n.namespace = $namespace AND n.query_id = $query_id
DETACH DELETE n
