// what: reads the ids of the namespace's queries
// parameters: namespace
// returns: one row a query, by id: id
MATCH (q:Query)
WHERE q.namespace = $namespace
RETURN q.id AS id
ORDER BY id
