// what: the raw aggregation: the triples of each ordered pair become one edge, by index, with the properties of the product
// parameters: namespace, source_ids, threshold, top_k
// returns: nothing
UNWIND $source_ids AS id
CALL (id) {
  MATCH (s)-[t:TRIPLE {namespace: $namespace, source_id: id}]->(o)
  USING INDEX SEEK t:TRIPLE(namespace, source_id)
  WITH s, o, t
  ORDER BY t.rank
  WITH s, o, collect(t.id) AS triple_ids, collect(DISTINCT t.evidence_id) AS evidence_ids,
    collect(DISTINCT t.predicate) AS predicates, max(t.confidence) AS confidence, count(*) AS support, min(t.rank) AS rank
  WHERE confidence >= $threshold
  WITH *
  ORDER BY rank
  LIMIT $top_k
  CREATE (s)-[:RELATED {
    id: s.id + '-' + o.id, source_id: id, namespace: $namespace, predicates: predicates, confidence: confidence,
    statement: reduce(text = '', p IN predicates |
      text + CASE text WHEN '' THEN '' ELSE '; ' END + s.name + ' ' + replace(p, '_', ' ') + ' ' + o.name),
    support: support, triple_ids: triple_ids, evidence_ids: evidence_ids, rank: rank
  }]->(o)
}
