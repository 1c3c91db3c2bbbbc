// what: links an edge to its summaries
// parameters: namespace, edge_id, rows (maps of an id)
// returns: nothing
UNWIND $rows AS r
MATCH (e:Edge {id: $edge_id})
WHERE e.namespace = $namespace
MATCH (s:Summary {id: r.id})
MERGE (e)-[h:HAS_SUMMARY]->(s)
SET h.namespace = $namespace
