// what: opens the clusters of concepts, from maps of ids: id
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
SET c.cluster = ''
