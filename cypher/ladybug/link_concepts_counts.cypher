// what: counts the entities of concepts, whose clusters are open then, from maps of ids: id
// parameters: rows
// returns: one row a concept: id, entities
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
OPTIONAL MATCH (e:Entity)-[:REFERS_TO]->(c)
WITH c, count(e) AS number
SET c.entities = number, c.cluster = ''
RETURN c.id AS id, number AS entities
