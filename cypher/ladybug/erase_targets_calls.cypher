// what: finds the calls of a model about the queries of a selection, page by page; an empty value selects all
// parameters: namespace, model, domain, input_id, created_before, after, limit
// returns: one row a query that has such calls, by id: id, call_ids
MATCH (q:Query)
WHERE q.namespace = $namespace AND q.id > $after
  AND ($domain = '' OR q.domain = $domain)
  AND ($input_id = '' OR q.input_id = $input_id)
  AND ($created_before = '' OR (q.created_at < $created_before AND q.created_at <> ''))
UNWIND q.call_ids AS call_id
MATCH (c:TeacherCall {id: call_id})
WHERE c.model = $model
RETURN q.id AS id, collect(c.id) AS call_ids
ORDER BY id
LIMIT $limit
