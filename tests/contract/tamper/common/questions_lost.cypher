// what: makes questions lose their vectors
// parameters: namespace, ids, zeros
// returns: nothing
MATCH (q:Source)
WHERE q.namespace = $namespace AND q.id IN $ids
SET q.embedding = $zeros
