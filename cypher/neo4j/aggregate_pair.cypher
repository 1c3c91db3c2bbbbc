// what: makes the simple edges of queries that have none. Triples of one ordered entity pair whose evidence was kept become
//     one edge; edges below the threshold are pruned, the best top_k stay, and the query is marked with what its graph is
//     made of and how. revision and sizes tell a reader whether what it read is of one state (drag_graph/adapters/neo4j_rows.py).
//     merge is max, mean or noisy-or; statements holds, by edge id, sentences to use instead of the joined ones
// parameters: namespace, query_ids, merge, threshold, top_k, statements
// returns: nothing
UNWIND $query_ids AS query_id
MATCH (q:Query {id: query_id})
USING INDEX SEEK q:Query(id)
WHERE q.namespace = $namespace
CALL (q) {
  MATCH (q)-[:HAS_EVIDENCE]->(e:Evidence)
  WHERE e.kept
  RETURN collect(e.id) AS kept
}
CALL (q, kept) {
  MATCH (s)-[t:TRIPLE {namespace: $namespace, query_id: q.id}]->(o)
  USING INDEX SEEK t:TRIPLE(namespace, query_id)
  WHERE t.evidence_id IN kept
  WITH s, o, t
  ORDER BY t.rank, t.id
  WITH s, o, s.id + '-' + o.id AS id, collect(t) AS triples
  WITH s, o, id, triples, [t IN triples | t.confidence] AS confidences
  WITH s, o, id, triples, CASE $merge
    WHEN 'max' THEN reduce(best = 0.0, c IN confidences | CASE WHEN c > best THEN c ELSE best END)
    WHEN 'mean' THEN reduce(total = 0.0, c IN confidences | total + c) / size(confidences)
    WHEN 'noisy-or' THEN 1.0 - reduce(doubt = 1.0, c IN confidences | doubt * (1.0 - c))
  END AS confidence
  ORDER BY triples[0].rank, confidence DESC, id
  RETURN collect({source: s, target: o, id: id, triples: triples, confidence: confidence}) AS merged
}
WITH q, size(merged) AS found, [m IN merged WHERE m.confidence >= $threshold - 1e-9][..$top_k] AS edges
SET q.graph = CASE WHEN found = 0 THEN 'evidence_only' WHEN size(edges) = 0 THEN 'multigraph' ELSE 'simple' END,
  q.sizes = q.sizes[..4] + size(edges), q.revision = randomUUID(),
  q.aggregation = 'pair ' + $merge + ' ' + toString($threshold) + ' ' + toString($top_k)
WITH q, edges
UNWIND range(0, size(edges) - 1) AS rank
WITH q, rank, edges[rank] AS edge
WITH q, rank, edge, edge.source AS s, edge.target AS o, coalesce($statements[edge.id], '') AS given,
  reduce(out = [], p IN [t IN edge.triples | t.predicate] | CASE WHEN p IN out THEN out ELSE out + p END) AS predicates,
  reduce(out = [], e IN [t IN edge.triples | t.evidence_id] | CASE WHEN e IN out THEN out ELSE out + e END) AS evidence_ids
WITH *, reduce(out = [], w IN [p IN predicates | replace(p, '_', ' ')] | CASE WHEN w IN out THEN out ELSE out + w END) AS words
WITH *, reduce(text = '', w IN words |
  text + CASE text WHEN '' THEN '' ELSE '; ' END + s.name + ' ' + w + ' ' + o.name) AS joined
CREATE (s)-[:RELATED {
  id: edge.id, query_id: q.id, namespace: $namespace, statement: CASE given WHEN '' THEN joined ELSE given END,
  predicates: predicates, confidence: edge.confidence, support: size(edge.triples), triple_ids: [t IN edge.triples | t.id],
  evidence_ids: evidence_ids, rank: rank
}]->(o)
