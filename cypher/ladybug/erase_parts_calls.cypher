// what: erases nodes TeacherCall of a query, with their relationships
// parameters: namespace, source_id, ids
// returns: nothing
UNWIND $ids AS id
MATCH (n:TeacherCall {id: id})
WHERE n.namespace = $namespace AND n.source_id = $source_id
DETACH DELETE n
