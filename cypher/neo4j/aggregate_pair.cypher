// what: makes the simple edges of queries that have none. Triples of one ordered entity pair whose evidence was kept become
//     one edge; edges below the threshold are pruned, the best top_k stay, and the query is marked with what its graph is
//     made of and how. revision and sizes tell a reader whether what it read is of one state (drag_graph/adapters/neo4j_rows.py).
//     merge is max, mean or noisy-or; statements holds, by edge id, sentences to use instead of the joined ones
// parameters: namespace, source_ids, merge, threshold, top_k, statements
// returns: nothing
UNWIND $source_ids AS source_id
MATCH (q:Query {id: source_id})
USING INDEX SEEK q:Query(id)
WHERE q.namespace = $namespace
CALL (q) {
  MATCH (q)-[:HAS_EVIDENCE]->(e:Evidence)
  WHERE e.kept
  RETURN collect(e.id) AS kept
}
CALL (q, kept) {
  MATCH (s)-[t:TRIPLE {namespace: $namespace, source_id: q.id}]->(o)
  USING INDEX SEEK t:TRIPLE(namespace, source_id)
  WHERE t.evidence_id IN kept
  WITH s, o, t
  ORDER BY t.rank, t.id
  WITH s, o, collect(t.id) AS triple_ids, collect(t.confidence) AS confidences, min(t.rank) AS first,
    collect(DISTINCT t.predicate) AS predicates, collect(DISTINCT t.evidence_id) AS evidence_ids
  WITH s, o, s.id + '-' + o.id AS id, triple_ids, first, predicates, evidence_ids, CASE $merge
    WHEN 'max' THEN reduce(best = 0.0, c IN confidences | CASE WHEN c > best THEN c ELSE best END)
    WHEN 'mean' THEN reduce(total = 0.0, c IN confidences | total + c) / size(confidences)
    WHEN 'noisy-or' THEN 1.0 - reduce(doubt = 1.0, c IN confidences | doubt * (1.0 - c))
  END AS confidence
  ORDER BY first, confidence DESC, id
  RETURN count(*) AS found, collect(CASE WHEN confidence >= $threshold - 1e-9
    THEN [id, s, o, triple_ids, predicates, evidence_ids, confidence] END)[..$top_k] AS edges
}
SET q.graph = CASE WHEN found = 0 THEN 'evidence_only' WHEN size(edges) = 0 THEN 'multigraph' ELSE 'simple' END,
  q.sizes = q.sizes[..4] + size(edges), q.revision = randomUUID(),
  q.aggregation = 'pair ' + $merge + ' ' + toString($threshold) + ' ' + toString($top_k)
WITH q, edges
UNWIND range(0, size(edges) - 1) AS rank
WITH q, rank, edges[rank] AS edge
WITH q, rank, edge[0] AS id, edge[1] AS s, edge[2] AS o, edge[3] AS triple_ids, edge[4] AS predicates, edge[5] AS evidence_ids,
  edge[6] AS confidence
WITH *, s.name AS subject, o.name AS object
CREATE (s)-[:RELATED {
  id: id, source_id: q.id, namespace: $namespace, predicates: predicates, confidence: confidence, support: size(triple_ids),
  statement: coalesce(nullIf($statements[id], ''), reduce(text = '', w IN
    reduce(out = [], w IN [p IN predicates | replace(p, '_', ' ')] | CASE WHEN w IN out THEN out ELSE out + w END) |
    text + CASE text WHEN '' THEN '' ELSE '; ' END + subject + ' ' + w + ' ' + object)),
  triple_ids: triple_ids, evidence_ids: evidence_ids, rank: rank
}]->(o)
