// what: unlinks the entities of a namespace from their queries
// parameters: namespace
// returns: nothing
MATCH (q:Source)-[m:MENTIONS]->(:Entity)
WHERE q.namespace = $namespace
DELETE m
