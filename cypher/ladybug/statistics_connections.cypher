// what: finds a page of the namespace's queries
// parameters: namespace, after, limit
// returns: one row a query, by id: id
MATCH (q:Query)
WHERE q.namespace = $namespace AND q.id > $after
RETURN q.id AS id
ORDER BY id
LIMIT $limit
