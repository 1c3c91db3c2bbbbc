// what: reads how the simple edges of a query were made
// parameters: namespace, source_id
// returns: at most one row: aggregation (null where the store did not keep it yet)
MATCH (q:Query {id: $source_id})
WHERE q.namespace = $namespace
RETURN q.aggregation AS aggregation
