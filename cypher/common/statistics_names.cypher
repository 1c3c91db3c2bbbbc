// what: reads the names of concepts
// parameters: namespace, ids
// returns: one row a concept: id, name
UNWIND $ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace
RETURN c.id AS id, coalesce(c.name, c.id) AS name
