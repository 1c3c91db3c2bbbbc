// what: reads chunks and queries with their kept evidence and, with `facts`, the triples of this
// parameters: namespace, ids, vectors, facts
// returns: one row a unit: head (a list: id, source id, whether it is of a document, title, date, position, start, page, heading,
//     text), passages (lists: id, text, position, start, end, a cosine to each of the vectors or null, triples). A triple is a list:
//     id, source id, evidence id, then id, name and node of its subject, predicate, id, name and node of its object, confidence
UNWIND $ids AS id
CALL (id) {
  MATCH (c:Chunk {id: id})
  USING INDEX SEEK c:Chunk(id)
  WHERE c.namespace = $namespace
  MATCH (d:Document)-[:HAS_CHUNK]->(c)
  RETURN [c.id, d.id, true, d.name, coalesce(d.date, ''), c.position, c.start, c.page, coalesce(c.heading, []), c.text] AS head,
    COLLECT {
      MATCH (c)<-[:FROM_CHUNK]-(e:Evidence)
      RETURN e
    } AS evidence
UNION ALL
  MATCH (q:Query {id: id})
  USING INDEX SEEK q:Query(id)
  WHERE q.namespace = $namespace
  RETURN [q.id, q.id, false, q.text, left(q.created_at, 10), 0, 0, null, [], ''] AS head,
    COLLECT {
      MATCH (q)-[:HAS_EVIDENCE]->(e:Evidence)
      RETURN e
    } AS evidence
}
RETURN head, COLLECT {
  UNWIND evidence AS e
  WITH e
  WHERE e.kept
  RETURN [
    e.id, e.text, e.position, e.start, e.end,
    [v IN $vectors | CASE
      WHEN size(e.embedding) = size(v) AND any(x IN e.embedding WHERE x <> 0.0) THEN 2.0 * vector.similarity.cosine(e.embedding, v) - 1.0
    END],
    COLLECT {
      UNWIND CASE WHEN $facts THEN [e.id] ELSE [] END AS evidence_id
      MATCH (s:Entity)-[t:TRIPLE {evidence_id: evidence_id}]->(o:Entity)
      USING INDEX SEEK t:TRIPLE(evidence_id)
      WHERE t.namespace = $namespace
      RETURN [
        t.id, t.source_id, evidence_id,
        s.id, s.name, head([(s)-[:REFERS_TO]->(c:Concept) | coalesce(nullIf(c.cluster, ''), c.id)]), t.predicate,
        o.id, o.name, head([(o)-[:REFERS_TO]->(c:Concept) | coalesce(nullIf(c.cluster, ''), c.id)]), t.confidence
      ]
    }
  ]
} AS passages
