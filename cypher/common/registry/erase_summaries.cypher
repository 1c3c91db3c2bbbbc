// what: erases summaries
// parameters: namespace, ids
// returns: nothing
UNWIND $ids AS id
MATCH (s:Summary {id: id})
WHERE s.namespace = $namespace
DETACH DELETE s
