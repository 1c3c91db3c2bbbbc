// what: reads the vectors of the namespace's queries; the caller ranks them, as the engine compares only vectors
//     whose length is declared
// parameters: namespace
// returns: one row a query that has a vector: id, embedding
MATCH (q:Source)
WHERE q.namespace = $namespace AND q.kind = 'query' AND size(q.embedding) > 0
RETURN q.id AS id, q.embedding AS embedding
