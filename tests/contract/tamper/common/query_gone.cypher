// what: removes the queries of a namespace without what hangs on them
// parameters: namespace
// returns: nothing
MATCH (q:Source)
WHERE q.namespace = $namespace
DETACH DELETE q
