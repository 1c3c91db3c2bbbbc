// what: finds answers to a query that is not stored any more
// parameters: namespace
// returns: one row an answer and query: id
MATCH (a:Answer)
WHERE a.namespace = $namespace AND size(a.query_ids) > 0
UNWIND a.query_ids AS query_id
WITH a.id AS id, query_id
OPTIONAL MATCH (q:Query {id: query_id})
WITH id, q.id AS found
WHERE found IS NULL
RETURN DISTINCT id
