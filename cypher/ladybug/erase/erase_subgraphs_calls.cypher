// what: erases the teacher calls of a query
// parameters: namespace, source_id
// returns: one row: number (how many went)
MATCH (q:Query|Document {id: $source_id})
WHERE q.namespace = $namespace
UNWIND q.call_ids AS id
MATCH (n:TeacherCall {id: id})
DETACH DELETE n
RETURN count(*) AS number
