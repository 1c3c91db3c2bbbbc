// what: writes vectors, from maps: id, vector
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (n:Concept {id: r.id})
SET n.embedding = r.vector
