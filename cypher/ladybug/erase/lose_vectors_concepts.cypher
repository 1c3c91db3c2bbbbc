// what: takes away the vectors of concepts and opens their clusters, so that `link` embeds and judges them again, where they are
//     still all zeros
// parameters: namespace, ids
// returns: one row a vector: id
UNWIND $ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace AND octet_length(c.embedding) = 0
SET c.embedding = NULL, c.cluster = ''
RETURN c.id AS id
