// what: erases the node of a query, when all that hangs on it is gone
// parameters: namespace, source_id
// returns: one row: number (how many went)
MATCH (n:Query|Document {id: $source_id})
WHERE n.namespace = $namespace
DETACH DELETE n
RETURN count(*) AS number
