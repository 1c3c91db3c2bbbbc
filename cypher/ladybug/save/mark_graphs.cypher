// what: says of sources what kind of graph they have, of which aggregation it was made, and that they have a new revision
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (q:Source {id: r.id})
WHERE q.namespace = $namespace
SET q.graph = r.graph, q.aggregation = r.aggregation, q.revision = r.revision
