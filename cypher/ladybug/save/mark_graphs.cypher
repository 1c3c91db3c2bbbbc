// what: says of a source what its graph is made of (simple, multigraph or evidence_only) and how it was aggregated
// parameters: namespace, source_id, graph, aggregation
// returns: one row: id
MATCH (q:Query {id: $source_id})
WHERE q.namespace = $namespace
SET q.graph = $graph, q.aggregation = $aggregation
RETURN q.id AS id
UNION ALL
MATCH (d:Document {id: $source_id})
WHERE d.namespace = $namespace
SET d.graph = $graph, d.aggregation = $aggregation
RETURN d.id AS id
