// what: asks the vector index of all namespaces for the `candidates` nearest summaries, and keeps the best of this one
// parameters: namespace, vector, candidates, k
// returns: one row: seen (how many the index gave), hits (maps of edge_id, edge, key, text, score; nearest first, at most k)
CALL () {
  CALL db.index.vector.queryNodes('summary_embedding', $candidates, $vector) YIELD node AS s, score
  RETURN collect({node: s, score: 2.0 * score - 1.0}) AS found
}
CALL (found) {
  UNWIND found AS item
  WITH item.node AS s, item.score AS score
  WHERE s.namespace = $namespace
  MATCH (e:Edge {id: s.edge_id})
  WITH e, s, score
  ORDER BY score DESC, s.id
  LIMIT $k
  RETURN collect({edge_id: e.id, edge: e.name, key: s.key, text: s.text, score: score}) AS hits
}
RETURN size(found) AS seen, hits
