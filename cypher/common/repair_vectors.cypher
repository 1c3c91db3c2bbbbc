// what: gives queries their vectors again, from maps: id, vector
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (q:Query {id: r.id})
WHERE q.namespace = $namespace
SET q.embedding = r.vector
