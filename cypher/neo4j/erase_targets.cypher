// what: finds the queries of a selection, page by page; an empty value selects all
// parameters: namespace, domain, input_id, created_before, after, limit
// returns: one row a query, by id: id
MATCH (q:Query)
USING INDEX SEEK q:Query(namespace, id)
WHERE q.namespace = $namespace AND q.id > $after
  AND ($domain = '' OR q.domain = $domain)
  AND ($input_id = '' OR q.input_id = $input_id)
  AND ($created_before = '' OR (q.created_at < $created_before AND q.created_at <> ''))
WITH q
ORDER BY q.namespace, q.id
LIMIT $limit
RETURN q.id AS id
ORDER BY id
