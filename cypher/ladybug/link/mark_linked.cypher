// what: says of sources whether they are linked
// parameters: namespace, ids, linked
// returns: one row a source: id
UNWIND $ids AS id
MATCH (s:Source {id: id})
WHERE s.namespace = $namespace
SET s.linked = $linked
RETURN s.id AS id
