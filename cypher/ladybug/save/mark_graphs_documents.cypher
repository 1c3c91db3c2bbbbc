// what: says of documents what their graph is made of (simple, multigraph or evidence_only) and how it was aggregated
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (q:Document {id: r.id})
WHERE q.namespace = r.namespace
SET q.graph = r.graph, q.aggregation = r.aggregation
