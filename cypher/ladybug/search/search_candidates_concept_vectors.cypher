// what: reads the vectors of the namespace's concepts; the caller ranks them
// parameters: namespace
// returns: one row a concept that has a vector: id, embedding
MATCH (c:Concept)
WHERE c.namespace = $namespace AND octet_length(c.embedding) > 0
RETURN c.id AS id, c.embedding AS embedding
