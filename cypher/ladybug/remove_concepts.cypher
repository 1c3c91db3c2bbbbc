// what: removes concepts with their judgements, from maps of ids: id
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
DETACH DELETE c
