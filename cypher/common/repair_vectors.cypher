// what: gives queries their vectors again, from maps: id, vector, where these are still all zeros. The first SET waits for who
//     else writes the node, and then it is looked at again
// parameters: namespace, rows
// returns: one row a vector: id
UNWIND $rows AS r
MATCH (q:Query {id: r.id})
WHERE q.namespace = $namespace
SET q.status = q.status
WITH q, r
WHERE size(q.embedding) > 0 AND all(x IN q.embedding WHERE x = 0.0)
SET q.embedding = r.vector
RETURN q.id AS id
