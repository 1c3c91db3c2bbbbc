// what: finds queries that do not say rightly which calls they have
// parameters: namespace
// returns: one row a query: id
MATCH (q:Source)
WHERE q.namespace = $namespace AND size(q.call_ids) > 0
UNWIND q.call_ids AS named
WITH q.id AS id, named
OPTIONAL MATCH (c:TeacherCall {id: named})
WITH id, c.source_id AS owner
WHERE owner IS NULL OR owner <> id
RETURN DISTINCT id
UNION ALL
MATCH (c:TeacherCall)
WHERE c.namespace = $namespace
WITH c.id AS call_id, c.source_id AS owner
MATCH (q:Source {id: owner})
WHERE NOT list_contains(q.call_ids, call_id)
RETURN DISTINCT q.id AS id
