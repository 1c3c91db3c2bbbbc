// what: reads the vectors of those of these concepts that have one
// parameters: namespace, ids
// returns: one row a vector: id, embedding
UNWIND $ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace AND octet_length(c.embedding) > 0
RETURN c.id AS id, c.embedding AS embedding
