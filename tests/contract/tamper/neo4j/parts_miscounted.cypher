// what: makes queries claim another number of parts
// parameters: namespace
// returns: nothing
MATCH (q:Query)
WHERE q.namespace = $namespace
SET q.sizes = [q.sizes[0], q.sizes[1] + 1] + q.sizes[2..]
