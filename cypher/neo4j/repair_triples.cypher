// what: removes triples
// parameters: namespace, ids
// returns: nothing
UNWIND $ids AS id
MATCH ()-[t:TRIPLE {id: id}]->()
WHERE t.namespace = $namespace
DELETE t
