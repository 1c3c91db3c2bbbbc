// what: pages through the ids of the namespace's queries. Ordered by all that the index is of, a page reads no more than it returns
// parameters: namespace, after, limit
// returns: one row a query, by id: id
MATCH (q:Source)
USING INDEX SEEK q:Source(namespace, id)
WHERE q.namespace = $namespace AND q.id > $after
WITH q
ORDER BY q.namespace, q.id
LIMIT $limit
RETURN q.id AS id
