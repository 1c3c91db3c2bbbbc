// what: has queries say anew which calls they have
// parameters: namespace, query_ids
// returns: nothing
UNWIND $query_ids AS id
MATCH (q:Query {id: id})
WHERE q.namespace = $namespace
OPTIONAL MATCH (c:TeacherCall)
WHERE c.query_id = q.id
WITH q, collect(c.id) AS calls
SET q.call_ids = calls
