// what: reads summaries with the names of their edges
// parameters: namespace, ids
// returns: one row a summary: id, edge_id, edge (its name), key, text
UNWIND $ids AS id
MATCH (s:Summary {id: id})
WHERE s.namespace = $namespace
MATCH (e:Edge {id: s.edge_id})
RETURN s.id AS id, e.id AS edge_id, e.name AS edge, s.key AS key, s.text AS text
