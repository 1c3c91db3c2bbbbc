// what: finds the calls of a model about the queries of a selection, page by page; an empty value selects all
// parameters: namespace, model, domain, input_id, created_before, after, limit
// returns: one row a query that has such calls, by id: id, call_ids
MATCH (q:Query)
USING INDEX SEEK q:Query(namespace, id)
WHERE q.namespace = $namespace AND q.id > $after
  AND ($domain = '' OR q.domain = $domain)
  AND ($input_id = '' OR q.input_id = $input_id)
  AND ($created_before = '' OR (q.created_at < $created_before AND q.created_at <> ''))
CALL (q) {
  MATCH (c:TeacherCall {namespace: $namespace, source_id: q.id})
  USING INDEX SEEK c:TeacherCall(namespace, source_id)
  WHERE c.model = $model
  RETURN collect(c.id) AS call_ids
}
WITH q, call_ids
WHERE size(call_ids) > 0
WITH q, call_ids
ORDER BY q.namespace, q.id
LIMIT $limit
RETURN q.id AS id, call_ids
ORDER BY id
