// what: the raw aggregation: those triples of an ordered pair whose claim is strong become one edge, by index, with the properties
//     of the product. By `max` a claim is strong as soon as one of its triples is, so claims need no grouping of their own
// parameters: namespace, source_ids, threshold, top_k
// returns: nothing
UNWIND $source_ids AS id
CALL (id) {
  MATCH (s)-[t:TRIPLE {namespace: $namespace, source_id: id}]->(o)
  USING INDEX SEEK t:TRIPLE(namespace, source_id)
  WITH s, o, t
  ORDER BY t.rank
  WITH s, o, collect([t.id, t.evidence_id, t.predicate, t.confidence, t.rank]) AS triples
  WITH s, o, [t IN triples WHERE any(u IN triples WHERE u[2] = t[2] AND u[3] >= $threshold)] AS triples
  WHERE triples <> []
  WITH *
  ORDER BY triples[0][4]
  LIMIT $top_k
  WITH *, reduce(out = [], t IN triples | CASE WHEN t[2] IN out THEN out ELSE out + t[2] END) AS predicates
  CREATE (s)-[:RELATED {
    id: s.id + '-' + o.id, source_id: id, namespace: $namespace, predicates: predicates,
    confidence: reduce(best = 0.0, t IN triples | CASE WHEN t[3] > best THEN t[3] ELSE best END),
    statement: reduce(text = '', p IN predicates |
      text + CASE text WHEN '' THEN '' ELSE '; ' END + s.name + ' ' + replace(p, '_', ' ') + ' ' + o.name),
    support: size(triples), triple_ids: [t IN triples | t[0]], contradicts: [],
    evidence_ids: reduce(out = [], t IN triples | CASE WHEN t[1] IN out THEN out ELSE out + t[1] END), rank: triples[0][4]
  }]->(o)
}
