// what: the raw aggregation of a whole namespace that has no edges into materialised ones, in transactions of 100 queries; auto-commit only
// parameters: namespace, threshold, top_k
// returns: nothing
MATCH (q:Query)
USING INDEX q:Query(namespace, id)
WHERE q.namespace = $namespace AND q.id IS NOT NULL
CALL (q) {
  MATCH (s)-[t:TRIPLE {namespace: $namespace, source_id: q.id}]->(o)
  USING INDEX SEEK t:TRIPLE(namespace, source_id)
  WITH q, s, o, t
  ORDER BY t.rank
  WITH q, s, o, collect(t.id) AS triple_ids, collect(DISTINCT t.evidence_id) AS evidence_ids,
    collect(DISTINCT t.predicate) AS predicates, max(t.confidence) AS confidence, count(*) AS support, min(t.rank) AS rank
  WHERE confidence >= $threshold
  WITH *
  ORDER BY rank
  LIMIT $top_k
  CREATE (s)-[:RELATED {
    id: s.id + '-' + o.id, source_id: q.id, namespace: $namespace, predicates: predicates, confidence: confidence,
    statement: reduce(text = '', p IN predicates |
      text + CASE text WHEN '' THEN '' ELSE '; ' END + s.name + ' ' + replace(p, '_', ' ') + ' ' + o.name),
    support: support, triple_ids: triple_ids, evidence_ids: evidence_ids, rank: rank
  }]->(o)
} IN TRANSACTIONS OF 100 ROWS
