// what: writes what communities are about, from maps: id, member_hash, name, summary, summariser, vector (in single precision). One
//     whose hash is another by now stays as it is: the first SET waits for other writers
// parameters: namespace, rows
// returns: one row a community that was written: id
UNWIND $rows AS r
MATCH (c:Community {id: r.id})
USING INDEX SEEK c:Community(id)
WHERE c.namespace = $namespace
SET c.level = c.level
WITH c, r
WHERE c.member_hash = r.member_hash
SET c.name = r.name, c.summary = r.summary, c.summariser = r.summariser
WITH c, r
CALL db.create.setNodeVectorProperty(c, 'embedding', r.vector)
RETURN c.id AS id
