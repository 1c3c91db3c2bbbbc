// what: finds queries of the namespace by the beginning of their id
// parameters: namespace, prefix, limit
// returns: one row a query, by id: id
MATCH (q:Query)
WHERE q.namespace = $namespace AND q.id STARTS WITH $prefix
RETURN q.id AS id
ORDER BY id
LIMIT $limit
