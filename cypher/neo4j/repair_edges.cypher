// what: removes simple edges
// parameters: namespace, ids
// returns: nothing
UNWIND $ids AS id
MATCH ()-[r:RELATED {id: id}]->()
WHERE r.namespace = $namespace
DELETE r
