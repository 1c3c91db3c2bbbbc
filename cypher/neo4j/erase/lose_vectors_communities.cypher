// what: takes from communities what they are about, so that `communities` summarises and embeds them again, where their vectors are
//     still all zeros. The first SET waits for who else writes the node, and then it is looked at again
// parameters: namespace, ids
// returns: one row a vector: id
UNWIND $ids AS id
MATCH (c:Community {id: id})
WHERE c.namespace = $namespace
SET c.level = c.level
WITH c
WHERE size(c.embedding) > 0 AND all(x IN c.embedding WHERE x = 0.0)
SET c.member_hash = '', c.name = '', c.summary = '', c.summariser = '', c.embedding = NULL
RETURN c.id AS id
