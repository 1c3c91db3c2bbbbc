// what: replaces hash, text and vector of summaries
// parameters: namespace, rows (maps of id, hash, text, embedding)
// returns: nothing
UNWIND $rows AS r
MATCH (s:Summary {id: r.id})
WHERE s.namespace = $namespace
SET s.hash = r.hash, s.text = r.text, s.embedding = r.embedding
