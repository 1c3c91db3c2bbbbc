// what: reads the vectors of summaries
// parameters: namespace, ids
// returns: one row per vector: id, embedding
UNWIND $ids AS id
MATCH (s:Summary {id: id})
WHERE s.namespace = $namespace AND octet_length(s.embedding) > 0
RETURN s.id AS id, s.embedding AS embedding
