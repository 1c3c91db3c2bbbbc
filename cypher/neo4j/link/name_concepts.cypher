// what: gives concepts names and the vectors of these, in single precision, from maps: id, revision, name, vector. One that is of
//     another revision by now stays as it is: the first SET waits for other writers
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
USING INDEX SEEK c:Concept(id)
WHERE c.namespace = $namespace
SET c.key = c.key
WITH c, r
WHERE c.revision = r.revision
SET c.name = r.name
WITH c, r
CALL db.create.setNodeVectorProperty(c, 'embedding', r.vector)
