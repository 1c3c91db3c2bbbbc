// what: reads how the simple edges of queries were made
// parameters: namespace, source_ids
// returns: one row a query that is stored: id, aggregation (null where the store did not keep it yet)
UNWIND $source_ids AS id
MATCH (q:Query {id: id})
USING INDEX SEEK q:Query(id)
WHERE q.namespace = $namespace
RETURN q.id AS id, q.aggregation AS aggregation
