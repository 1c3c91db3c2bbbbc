// what: ranks all summaries of the namespace by their cosine to a vector
// parameters: namespace, vector, k, without (the id of a site to leave out, or empty)
// returns: one row: hits (maps of site_id, site, key, text, score; nearest first, up to k)
MATCH (s:Summary)
WHERE s.namespace = $namespace AND s.id IS NOT NULL AND s.edge_id <> $without AND size(s.embedding) = size($vector)
  AND any(x IN s.embedding WHERE x <> 0.0)
WITH s, 2.0 * vector.similarity.cosine(s.embedding, $vector) - 1.0 AS score
MATCH (e:Edge {id: s.edge_id})
WITH e, s, score
ORDER BY score DESC, s.id
LIMIT $k
RETURN collect({site_id: e.id, site: e.name, key: s.key, text: s.text, score: score}) AS hits
