// what: counts how often the entities of concepts write the name in which way. Where one may be missing, the embedded engine goes
//     from the concepts; else it reads all entities
// parameters: namespace, ids
// returns: one row a concept and name: id, written, number
UNWIND $ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace
OPTIONAL MATCH (c)<-[:REFERS_TO]-(e:Entity)
WITH c, e
WHERE e.id IS NOT NULL
RETURN c.id AS id, e.name AS written, count(e) AS number
