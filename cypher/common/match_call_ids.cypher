// what: finds teacher calls of the namespace by the beginning of their id
// parameters: namespace, prefix, limit
// returns: one row a call, by id: id, source_id
MATCH (c:TeacherCall)
WHERE c.namespace = $namespace AND c.id STARTS WITH $prefix
RETURN c.id AS id, c.source_id AS source_id
ORDER BY id
LIMIT $limit
