// what: writes summaries from maps of their properties, in the place of those of the same ids
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MERGE (s:Summary {id: r.id})
SET
  s.namespace = $namespace, s.edge_id = r.edge_id, s.key = r.key, s.hash = r.hash, s.text = r.text, s.embedding = r.embedding
