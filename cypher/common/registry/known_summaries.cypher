// what: checks which summaries exist
// parameters: namespace, ids
// returns: one row per existing summary: id
UNWIND $ids AS id
MATCH (s:Summary {id: id})
WHERE s.namespace = $namespace
RETURN s.id AS id
