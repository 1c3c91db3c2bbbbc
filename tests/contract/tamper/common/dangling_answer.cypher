// what: makes the answers of a namespace name a query that is not stored
// parameters: namespace
// returns: nothing
MATCH (a:Answer)
WHERE a.namespace = $namespace
SET a.source_ids = ['missing']
