// what: finds answers of the namespace by the beginning of their id
// parameters: namespace, prefix, limit
// returns: one row an answer, by id: id
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.id STARTS WITH $prefix
RETURN a.id AS id
ORDER BY id
LIMIT $limit
