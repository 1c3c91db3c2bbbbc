// what: takes away the vectors of evidence, so that `link` embeds it again, where they are still all zeros
// parameters: namespace, ids
// returns: one row a vector: id
UNWIND $ids AS id
MATCH (n:Evidence {id: id})
WHERE n.namespace = $namespace AND octet_length(n.embedding) = 0
SET n.embedding = NULL
RETURN n.id AS id
