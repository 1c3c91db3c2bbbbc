// what: forgets how simple edges were made, as a store of an earlier version does not know it
// parameters: namespace
// returns: nothing
MATCH (q:Source)
WHERE q.namespace = $namespace
SET q.aggregation = null
