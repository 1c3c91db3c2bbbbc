// what: finds answers to a query that is not stored any more
// parameters: namespace
// returns: one row an answer and query: id
MATCH (a:Answer)
WHERE a.namespace = $namespace AND size(a.source_ids) > 0
UNWIND a.source_ids AS source_id
WITH a.id AS id, source_id
OPTIONAL MATCH (q:Source {id: source_id})
WITH id, q.id AS found
WHERE found IS NULL
RETURN DISTINCT id
