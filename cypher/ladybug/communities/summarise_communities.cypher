// what: writes what communities are about, from maps: id, member_hash, name, summary, summariser, vector. One whose hash is another by
//     now stays as it is
// parameters: namespace, rows
// returns: one row a community that was written: id
UNWIND $rows AS r
MATCH (c:Community {id: r.id})
WHERE c.namespace = $namespace AND c.member_hash = r.member_hash
SET c.name = r.name, c.summary = r.summary, c.summariser = r.summariser, c.embedding = r.vector
RETURN c.id AS id
