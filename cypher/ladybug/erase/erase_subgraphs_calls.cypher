// what: erases the teacher calls of a source
// parameters: namespace, source_id
// returns: one row: label, number (how many went)
MATCH (q:Source {id: $source_id})
WHERE q.namespace = $namespace
UNWIND q.call_ids AS id
MATCH (n:TeacherCall {id: id})
DETACH DELETE n
RETURN 'TeacherCall' AS label, count(*) AS number
