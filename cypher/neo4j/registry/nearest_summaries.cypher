// what: takes the `candidates` nearest summaries from the vector index of all namespaces and keeps the best of this one
// parameters: namespace, vector, candidates, k, without (the id of a site to leave out, or empty)
// returns: one row: hits (maps of site_id, site, key, text, score; nearest first, up to k)
CALL db.index.vector.queryNodes('summary_embedding', $candidates, $vector) YIELD node AS s, score
WHERE s.namespace = $namespace AND s.edge_id <> $without
MATCH (e:Edge {id: s.edge_id})
WITH e, s, 2.0 * score - 1.0 AS score
ORDER BY score DESC, s.id
LIMIT $k
RETURN collect({site_id: e.id, site: e.name, key: s.key, text: s.text, score: score}) AS hits
