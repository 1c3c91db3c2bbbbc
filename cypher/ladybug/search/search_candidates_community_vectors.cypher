// what: reads the vectors of the namespace's communities; the caller ranks them
// parameters: namespace
// returns: one row a community that has a vector: id, embedding
MATCH (c:Community)
WHERE c.namespace = $namespace AND octet_length(c.embedding) > 0
RETURN c.id AS id, c.embedding AS embedding
