// what: reads the vectors of those of these summaries that have one
// parameters: namespace, ids
// returns: one row a vector: id, embedding
UNWIND $ids AS id
MATCH (s:Summary {id: id})
WHERE s.namespace = $namespace AND octet_length(s.embedding) > 0
RETURN s.id AS id, s.embedding AS embedding
