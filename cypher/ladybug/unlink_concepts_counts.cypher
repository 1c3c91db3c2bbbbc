// what: counts the entities of concepts and opens their clusters, from maps: id, entities
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
SET c.entities = r.entities, c.cluster = ''
