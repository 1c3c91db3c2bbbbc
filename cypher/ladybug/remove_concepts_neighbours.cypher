// what: opens the clusters of the concepts that others were judged to be the same as, from maps of ids: id
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})-[:SAME_AS]-(other:Concept)
SET other.cluster = ''
