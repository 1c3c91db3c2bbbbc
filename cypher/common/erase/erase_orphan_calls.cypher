// what: removes teacher calls that belong to no stored query
// parameters: namespace, ids
// returns: one row a node that went: id
UNWIND $ids AS id
MATCH (n:TeacherCall {id: id})
WHERE n.namespace = $namespace AND NOT EXISTS { MATCH (q:Source) WHERE q.id = n.source_id }
DETACH DELETE n
RETURN id
