// what: which of these summaries are there
// parameters: namespace, ids
// returns: one row a summary that is there: id
UNWIND $ids AS id
MATCH (s:Summary {id: id})
WHERE s.namespace = $namespace
RETURN s.id AS id
