// what: lists answers without their snapshots, newest first; those of one query where query_id is not empty
// parameters: namespace, query_id, limit
// returns: one row an answer: the properties as one map
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.created_at IS NOT NULL AND ($query_id = '' OR $query_id IN a.query_ids)
WITH a
ORDER BY a.created_at DESC, a.id
LIMIT $limit
RETURN a {.*, snapshot: '{}'} AS properties
ORDER BY a.created_at DESC, a.id
