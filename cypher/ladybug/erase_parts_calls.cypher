// what: erases nodes TeacherCall of a query, with their relationships
// parameters: namespace, query_id, ids
// returns: nothing
UNWIND $ids AS id
MATCH (n:TeacherCall {id: id})
WHERE n.namespace = $namespace AND n.query_id = $query_id
DETACH DELETE n
