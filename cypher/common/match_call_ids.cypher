// what: finds teacher calls of the namespace by the beginning of their id
// parameters: namespace, prefix, limit
// returns: one row a call, by id: id, query_id
MATCH (c:TeacherCall)
WHERE c.namespace = $namespace AND c.id STARTS WITH $prefix
RETURN c.id AS id, c.query_id AS query_id
ORDER BY id
LIMIT $limit
