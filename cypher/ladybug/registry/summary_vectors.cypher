// what: reads the vectors of all summaries of the namespace; the caller ranks them
// parameters: namespace
// returns: one row per summary with a vector: id, embedding
MATCH (s:Summary)
WHERE s.namespace = $namespace AND octet_length(s.embedding) > 0
RETURN s.id AS id, s.embedding AS embedding
