// what: finds the queries whose subgraphs' time to live has ended, page by page
// parameters: namespace, now, after, limit
// returns: one row a query, by id: id, created_at, expires_at
MATCH (q:Query)
WHERE q.namespace = $namespace AND q.id > $after AND q.expires_at <> '' AND q.expires_at < $now
RETURN q.id AS id, q.created_at AS created_at, q.expires_at AS expires_at
ORDER BY id
LIMIT $limit
