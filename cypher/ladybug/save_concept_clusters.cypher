// what: sets the clusters of concepts, from maps: id, cluster
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
SET c.cluster = r.cluster
