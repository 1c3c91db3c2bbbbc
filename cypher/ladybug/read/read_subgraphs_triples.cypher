// what: reads the multigraph of a source
// parameters: node_table, node_offset (the place of the source)
// returns: one row a triple, in no order: its properties and its ends
MATCH (q:Query|Document)-[:MENTIONS]->(s:Entity)-[t:TRIPLE]->(o:Entity)
WHERE id(q) = internal_id($node_table, $node_offset)
RETURN
  t.id AS id, t.predicate AS predicate, t.predicate_key AS predicate_key, t.confidence AS confidence,
  t.evidence_id AS evidence_id, t.call_ids AS call_ids, t.rank AS rank, t.opposes AS opposes,
  s.id AS subject_id, s.name AS subject,
  o.id AS object_id, o.name AS object
