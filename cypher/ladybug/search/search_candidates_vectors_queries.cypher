// what: reads the vectors of those of these queries that have one
// parameters: namespace, ids
// returns: one row a vector: id, embedding
UNWIND $ids AS id
MATCH (q:Source {id: id})
WHERE q.namespace = $namespace AND q.kind = 'query' AND size(q.embedding) > 0
RETURN q.id AS id, q.embedding AS embedding
