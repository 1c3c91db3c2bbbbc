// what: takes the predicates of the triples of a namespace away
// parameters: namespace
// returns: nothing
MATCH (q:Source)-[:MENTIONS]->(:Entity)-[t:TRIPLE]->(:Entity)
WHERE q.namespace = $namespace
SET t.predicate = null
