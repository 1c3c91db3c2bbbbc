// what: lists answers without their snapshots, newest first; those of one query where source_id is not empty
// parameters: namespace, source_id, limit
// returns: one row an answer: the properties as one map
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.created_at IS NOT NULL AND ($source_id = '' OR $source_id IN a.source_ids)
WITH a
ORDER BY a.created_at DESC, a.id
LIMIT $limit
RETURN a {.*, snapshot: '{}'} AS properties
ORDER BY a.created_at DESC, a.id
