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
  WITH q, s, o, collect([t.id, t.evidence_id, t.predicate, t.confidence, t.rank]) AS triples
  WITH q, s, o, [t IN triples WHERE any(u IN triples WHERE u[2] = t[2] AND u[3] >= $threshold)] AS triples
  WHERE triples <> []
  WITH *
  ORDER BY triples[0][4]
  LIMIT $top_k
  WITH *, reduce(out = [], t IN triples | CASE WHEN t[2] IN out THEN out ELSE out + t[2] END) AS predicates
  CREATE (s)-[:RELATED {
    id: s.id + '-' + o.id, source_id: q.id, namespace: $namespace, predicates: predicates,
    confidence: reduce(best = 0.0, t IN triples | CASE WHEN t[3] > best THEN t[3] ELSE best END),
    statement: reduce(text = '', p IN predicates |
      text + CASE text WHEN '' THEN '' ELSE '; ' END + s.name + ' ' + replace(p, '_', ' ') + ' ' + o.name),
    support: size(triples), triple_ids: [t IN triples | t[0]], contradicts: [],
    evidence_ids: reduce(out = [], t IN triples | CASE WHEN t[1] IN out THEN out ELSE out + t[1] END), rank: triples[0][4]
  }]->(o)
} IN TRANSACTIONS OF 100 ROWS
