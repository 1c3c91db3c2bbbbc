// what: reads the triples of sources
//     (after an UNWIND of ids, the engine reads all relationships of the store)
// parameters: ids
// returns: one row a triple, in no order: id, source_id, evidence_id, subject_id, subject, predicate, object_id, object, confidence,
//     predicate_key
MATCH (q:Source)-[:MENTIONS]->(s:Entity)-[t:TRIPLE]->(o:Entity)
WHERE q.id IN $ids
RETURN t.id AS id, q.id AS source_id, t.evidence_id AS evidence_id, s.id AS subject_id, s.name AS subject,
  t.predicate AS predicate, o.id AS object_id, o.name AS object, t.confidence AS confidence,
  t.predicate_key AS predicate_key
