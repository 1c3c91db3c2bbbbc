// what: removes simple edges
// parameters: namespace, ids
// returns: nothing
MATCH (:Entity)-[r:RELATED]->(:Entity)
WHERE r.namespace = $namespace AND list_contains($ids, r.id)
DELETE r
