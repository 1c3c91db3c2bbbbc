// what: merges the multigraph of a query. Triples of one entity pair and predicate key whose evidence was kept become
//     one edge; `strong` says which survive the pruning at the threshold. merge is max, mean or noisy-or. The engine cannot
//     number rows nor sort lists of maps: the caller puts `triples` and the edges in order
// parameters: namespace, source_id, merge, threshold
// returns: one row an edge: id, subject_id, subject, object_id, object, confidence, support, strong, triples (maps of rank, id,
//     predicate, evidence_id)
MATCH (q:Query {id: $source_id})-[:MENTIONS]->(s:Entity)-[t:TRIPLE]->(o:Entity)
WHERE q.namespace = $namespace
// The plain WITH keeps the planner from scanning all evidence before it walks to this query's.
WITH s, t, o
MATCH (e:Evidence {id: t.evidence_id})
WITH s, t, o, e.kept AS kept
WHERE kept
// In this order the floats are summed to the same bits as by the other engine. The engine orders only under a LIMIT.
WITH s, t, o
ORDER BY t.rank, t.id
LIMIT 1000000000
WITH
  s.id AS source, s.name AS subject, o.id AS target, o.name AS object, t.predicate_key AS key, max(t.confidence) AS highest,
  collect(t.confidence) AS confidences, collect(1.0 - t.confidence) AS doubts, count(*) AS support,
  collect({rank: t.rank, id: t.id, predicate: t.predicate, evidence_id: t.evidence_id}) AS triples
WITH
  source + '-' + target + '-' + key AS id, source, subject, target, object, support, triples,
  CASE $merge
    WHEN 'max' THEN highest
    WHEN 'mean' THEN list_sum(confidences) / support
    WHEN 'noisy-or' THEN 1.0 - list_product(doubts)
  END AS confidence
RETURN
  id, source AS subject_id, subject, target AS object_id, object, confidence, support,
  confidence >= $threshold - 0.000000001 AS strong, triples
