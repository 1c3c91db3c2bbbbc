// what: makes queries claim no teacher call
// parameters: namespace
// returns: nothing
MATCH (q:Source)
WHERE q.namespace = $namespace
SET q.call_ids = ['missing']
