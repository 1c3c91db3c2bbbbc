// what: reads concepts by their ids
// parameters: namespace, ids
// returns: one row a concept that is there: id, text (its name), cluster, entities
UNWIND $ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace
RETURN c.id AS id, c.name AS text, c.cluster AS cluster, c.entities AS entities
