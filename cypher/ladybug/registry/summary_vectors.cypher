// what: reads the vectors of the namespace's summaries; the caller ranks them
// parameters: namespace
// returns: one row a summary that has a vector: id, embedding
MATCH (s:Summary)
WHERE s.namespace = $namespace AND octet_length(s.embedding) > 0
RETURN s.id AS id, s.embedding AS embedding
