// 06 Left-out triples
// Read from the evidence, but below the confidence threshold, beyond the best K, or from evidence that was not kept.
// Parameters: namespace, source_id
MATCH (s:Entity)-[t:TRIPLE {namespace: $namespace, source_id: $source_id}]->(o:Entity)
WHERE NOT EXISTS {
  MATCH (s)-[r:RELATED {namespace: $namespace, source_id: $source_id}]->(o)
  WHERE t.id IN r.triple_ids
}
MATCH (e:Evidence {id: t.evidence_id})
RETURN t.confidence AS confidence, s.name AS subject, t.predicate AS predicate, o.name AS object,
  e.kept AS evidence_kept, e.reason AS reason, e.text AS evidence, t.id AS triple_id
ORDER BY confidence DESC, triple_id
