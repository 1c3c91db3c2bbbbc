// what: reads the ids of the namespace's sources
// parameters: namespace
// returns: one row a source, by id: id
MATCH (q:Query|Document)
WHERE q.namespace = $namespace
RETURN q.id AS id
ORDER BY id
