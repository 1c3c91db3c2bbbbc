// what: finds the queries of a selection, page by page; an empty value selects all
// parameters: namespace, domain, input_id, created_before, after, limit
// returns: one row a query, by id: id
MATCH (q:Query)
WHERE q.namespace = $namespace AND q.id > $after
  AND ($domain = '' OR q.domain = $domain)
  AND ($input_id = '' OR q.input_id = $input_id)
  AND ($created_before = '' OR (q.created_at < $created_before AND q.created_at <> ''))
RETURN q.id AS id
ORDER BY id
LIMIT $limit
