// what: lets nobody else write to an edge until the transaction ends
// parameters: namespace, id
// returns: one row where there is the edge: id
MATCH (e:Edge {id: $id})
WHERE e.namespace = $namespace
SET e.refused = e.refused
RETURN e.id AS id
