// what: counts the queries of a namespace
// parameters: namespace
// returns: one row: number
MATCH (q:Query)
WHERE q.namespace = $namespace AND q.id IS NOT NULL
RETURN count(q) AS number
