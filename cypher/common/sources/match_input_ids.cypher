// what: finds queries of the namespace by the id that their line of the input had
// parameters: namespace, prefix, limit
// returns: one row a query, by id: id
MATCH (q:Query)
WHERE q.namespace = $namespace AND q.id IS NOT NULL AND q.input_id = $prefix
RETURN q.id AS id
ORDER BY id
LIMIT $limit
