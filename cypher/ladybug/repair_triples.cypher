// what: removes triples
// parameters: namespace, ids
// returns: nothing
MATCH (:Entity)-[t:TRIPLE]->(:Entity)
WHERE t.namespace = $namespace AND list_contains($ids, t.id)
DELETE t
