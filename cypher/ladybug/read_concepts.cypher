// what: reads concepts, from maps of ids: id
// parameters: rows
// returns: one row a concept that is there: id, key, name, entities, cluster
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
RETURN c.id AS id, c.key AS key, c.name AS name, c.entities AS entities, c.cluster AS cluster
