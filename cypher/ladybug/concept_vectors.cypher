// what: reads the vectors of concepts, from maps of ids: id
// parameters: rows
// returns: one row a concept that has one: id, embedding
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
WHERE c.embedding IS NOT NULL
RETURN c.id AS id, c.embedding AS embedding
