// what: takes from communities what they are about, so that `communities` summarises and embeds them again, where their vectors are
//     still all zeros
// parameters: namespace, ids
// returns: one row a vector: id
UNWIND $ids AS id
MATCH (c:Community {id: id})
WHERE c.namespace = $namespace AND octet_length(c.embedding) = 0
SET c.member_hash = '', c.name = '', c.summary = '', c.summariser = '', c.embedding = NULL
RETURN c.id AS id
