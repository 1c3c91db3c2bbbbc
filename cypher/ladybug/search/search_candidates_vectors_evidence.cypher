// what: reads the vectors of those of this evidence that have one
// parameters: namespace, ids
// returns: one row a vector: kind, id, embedding
UNWIND $ids AS id
MATCH (e:Evidence {id: id})
WHERE e.namespace = $namespace AND e.kept AND octet_length(e.embedding) > 0
RETURN 'evidence' AS kind, e.id AS id, e.embedding AS embedding
