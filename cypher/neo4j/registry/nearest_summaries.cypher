// what: asks the vector index of all namespaces for the `candidates` nearest summaries, and keeps the best of this one
// parameters: namespace, vector, candidates, k, without (the id of an edge whose own do not count, or empty)
// returns: one row: hits (maps of edge_id, edge, key, text, score; nearest first, at most k)
CALL db.index.vector.queryNodes('summary_embedding', $candidates, $vector) YIELD node AS s, score
WHERE s.namespace = $namespace AND s.edge_id <> $without
MATCH (e:Edge {id: s.edge_id})
WITH e, s, 2.0 * score - 1.0 AS score
ORDER BY score DESC, s.id
LIMIT $k
RETURN collect({edge_id: e.id, edge: e.name, key: s.key, text: s.text, score: score}) AS hits
