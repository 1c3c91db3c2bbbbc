// what: gives concepts other names and takes the vectors of the old ones away; from maps: id, name
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
SET c.name = r.name, c.embedding = NULL
