// what: takes away the vectors of concepts and opens their clusters, so that `link` embeds and judges them
//     again, where they are still all zeros. The first SET waits for who else writes the node, and then it is looked at again
// parameters: namespace, ids
// returns: one row a vector: id
UNWIND $ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace
SET c.key = c.key
WITH c
WHERE size(c.embedding) > 0 AND all(x IN c.embedding WHERE x = 0.0)
SET c.embedding = NULL, c.cluster = ''
RETURN c.id AS id
