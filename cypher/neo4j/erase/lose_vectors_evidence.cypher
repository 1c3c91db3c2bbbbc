// what: takes away the vectors of evidence, so that `link` embeds it again, where they are still all zeros. The
//     first SET waits for who else writes the node, and then it is looked at again
// parameters: namespace, ids
// returns: one row a vector: id
UNWIND $ids AS id
MATCH (n:Evidence {id: id})
WHERE n.namespace = $namespace
SET n.kept = n.kept
WITH n
WHERE size(n.embedding) > 0 AND all(x IN n.embedding WHERE x = 0.0)
SET n.embedding = NULL
RETURN n.id AS id
