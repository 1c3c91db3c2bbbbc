// what: writes vectors, from maps: id, vector (as it is kept)
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (v:Evidence {id: r.id})
WHERE v.namespace = $namespace
SET v.embedding = r.vector
