// what: what summaries an edge has here
// parameters: namespace, edge_id
// returns: one row a summary: key, hash
MATCH (e:Edge {id: $edge_id})-[:HAS_SUMMARY]->(s:Summary)
WHERE e.namespace = $namespace
RETURN s.key AS key, s.hash AS hash
