// what: reads the vectors of those of this evidence that have one
// parameters: namespace, ids
// returns: one row an evidence: id, vector
UNWIND $ids AS id
MATCH (n:Evidence {id: id})
WHERE n.namespace = $namespace AND n.embedding IS NOT NULL
RETURN n.id AS id, n.embedding AS vector
