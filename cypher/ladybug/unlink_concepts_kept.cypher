// what: takes from concepts all but their ids, from maps of ids: id
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
SET c.key = '', c.name = '', c.embedding = NULL, c.entities = 0, c.cluster = ''
