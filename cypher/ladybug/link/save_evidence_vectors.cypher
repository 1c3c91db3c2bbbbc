// what: writes vectors, from maps: id, vector (as text, for the client looks at each number of a list)
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (v:Evidence {id: r.id})
WHERE v.namespace = $namespace
SET v.embedding = CAST(r.vector AS DOUBLE[])
