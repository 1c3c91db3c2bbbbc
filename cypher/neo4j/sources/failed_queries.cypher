// what: finds the queries to which a student that was shown the subgraph gave a wrong answer since it was made, page by page
// parameters: namespace, after, limit
// returns: one row a query, by id: id, created_at, expires_at
MATCH (q:Query)
USING INDEX SEEK q:Query(namespace, id)
WHERE q.namespace = $namespace AND q.id > $after
  AND EXISTS {
    MATCH (q)<-[:ANSWERS]-(a)
    WHERE a.correct = false AND a.mode <> 'none' AND a.created_at >= q.created_at
  }
WITH q
ORDER BY q.namespace, q.id
LIMIT $limit
RETURN q.id AS id, q.created_at AS created_at, q.expires_at AS expires_at
ORDER BY id
