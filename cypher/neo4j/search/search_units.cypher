// what: reads chunks and queries with their kept evidence and the triples of this
// parameters: namespace, ids, vectors
// returns: one row a unit: head (a list: id, source id, whether it is of a document, title, date, position, start, page, heading,
//     text), passages (lists: id, text, position, start, end, a cosine to each of the vectors or null), triples (lists: id, source
//     id, evidence id, then id, name and concept of its subject, predicate, id, name and concept of its object, confidence,
//     predicate key)
UNWIND $ids AS id
CALL (id) {
  MATCH (c:Chunk {id: id})
  USING INDEX SEEK c:Chunk(id)
  WHERE c.namespace = $namespace
  MATCH (d:Document)-[:HAS_CHUNK]->(c)
  RETURN c AS unit,
    [c.id, d.id, true, d.name, coalesce(d.date, ''), c.position, c.start, c.page, coalesce(c.heading, []), c.text] AS head
UNION ALL
  MATCH (q:Query {id: id})
  USING INDEX SEEK q:Query(id)
  WHERE q.namespace = $namespace
  RETURN q AS unit, [q.id, q.id, false, q.text, left(q.created_at, 10), 0, 0, null, [], ''] AS head
}
RETURN head,
  COLLECT {
    MATCH (unit)-[:FROM_CHUNK|HAS_EVIDENCE]-(e:Evidence)
    WHERE e.kept
    WITH e, CASE WHEN $vectors <> [] THEN e.embedding END AS own
    RETURN [e.id, e.text, e.position, e.start, e.end, [v IN $vectors | CASE
      WHEN size(own) = size(v) AND any(x IN own WHERE x <> 0.0) THEN 2.0 * vector.similarity.cosine(own, v) - 1.0
    END]]
  } AS passages,
  COLLECT {
    MATCH (unit)-[:FROM_CHUNK|HAS_EVIDENCE]-(e:Evidence)
    WHERE e.kept
    MATCH (s)-[t:TRIPLE {evidence_id: e.id}]->(o)
    USING INDEX SEEK t:TRIPLE(evidence_id)
    RETURN [
      t.id, t.source_id, t.evidence_id,
      s.id, s.name, head([(s)-[:REFERS_TO]->(c) | coalesce(nullIf(c.cluster, ''), c.id)]), t.predicate,
      o.id, o.name, head([(o)-[:REFERS_TO]->(c) | coalesce(nullIf(c.cluster, ''), c.id)]), t.confidence, t.predicate_key
    ]
  } AS triples
