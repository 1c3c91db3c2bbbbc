// what: makes questions lose their vectors
// parameters: namespace, ids, zeros
// returns: nothing
MATCH (q:Query)
WHERE q.namespace = $namespace AND q.id IN $ids
SET q.embedding = $zeros
