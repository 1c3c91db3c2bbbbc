// what: erases every answer that rests on a query
// parameters: namespace, query_id
// returns: one row: number (how many went)
MATCH (n:Answer)
WHERE n.namespace = $namespace AND list_contains(n.query_ids, $query_id)
DETACH DELETE n
RETURN count(*) AS number
