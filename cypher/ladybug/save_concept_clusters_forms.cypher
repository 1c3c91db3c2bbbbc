// what: counts the other names of the entities of concepts, from maps of ids: id
// parameters: rows
// returns: one row a concept that entities refer to: id, forms
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})<-[:REFERS_TO]-(e:Entity)
RETURN c.id AS id, sum(size(e.variants)) AS forms
