// what: makes queries claim another teacher call
// parameters: namespace
// returns: nothing
MATCH (q:Source)
WHERE q.namespace = $namespace
SET q.call_ids = list_append(q.call_ids, 'missing')
