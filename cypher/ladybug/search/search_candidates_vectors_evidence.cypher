// what: reads the vectors of those of these kept evidence that have one
// parameters: namespace, ids
// returns: one row a vector: id, embedding
UNWIND $ids AS id
MATCH (e:Evidence {id: id})
WHERE e.namespace = $namespace AND e.kept AND octet_length(e.embedding) > 0
RETURN e.id AS id, e.embedding AS embedding
