// what: gives concepts names and the vectors of these, from maps: id, revision, name, vector. One that is of another revision by now
//     stays as it is
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
WHERE c.namespace = $namespace AND c.revision = r.revision
SET c.name = r.name, c.embedding = r.vector
