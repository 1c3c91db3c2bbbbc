// what: has queries say anew which calls they have
// parameters: namespace, source_ids
// returns: nothing
UNWIND $source_ids AS id
MATCH (q:Query {id: id})
WHERE q.namespace = $namespace
OPTIONAL MATCH (c:TeacherCall)
WHERE c.source_id = q.id
WITH q, collect(c.id) AS calls
SET q.call_ids = calls
