// what: counts how often the entities of concepts write the name in which way
// parameters: namespace, ids
// returns: one row a concept and name: id, written, number
UNWIND $ids AS id
MATCH (c:Concept {id: id})<-[:REFERS_TO]-(e:Entity)
WHERE c.namespace = $namespace
RETURN c.id AS id, e.name AS written, count(e) AS number
