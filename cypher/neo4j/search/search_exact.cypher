// what: ranks all queries and evidence of sources by their cosine to the vector, or one kind of these
// parameters: namespace, vector, sources, kinds (of queries, evidence), k
// returns: one row: queries, evidence (lists of [id, score, the question or the unit], nearest first, at most k)
CALL () {
  UNWIND CASE WHEN 'queries' IN $kinds THEN $sources ELSE [] END AS source
  MATCH (q:Query {id: source})
  USING INDEX SEEK q:Query(id)
  WHERE q.namespace = $namespace
  WITH q, q.embedding AS own
  WHERE size(own) = size($vector) AND any(x IN own WHERE x <> 0.0)
  WITH q, 2.0 * vector.similarity.cosine(own, $vector) - 1.0 AS cosine
  ORDER BY cosine DESC, q.id
  LIMIT $k
  RETURN collect([q.id, cosine, q.text]) AS queries
}
CALL () {
  UNWIND CASE WHEN 'evidence' IN $kinds THEN $sources ELSE [] END AS source
  MATCH (e:Evidence {namespace: $namespace, source_id: source})
  USING INDEX SEEK e:Evidence(namespace, source_id)
  WHERE e.kept
  WITH e, e.embedding AS own
  WHERE size(own) = size($vector) AND any(x IN own WHERE x <> 0.0)
  WITH e, 2.0 * vector.similarity.cosine(own, $vector) - 1.0 AS cosine
  ORDER BY cosine DESC, e.id
  LIMIT $k
  RETURN collect([e.id, cosine, coalesce(nullIf(e.chunk_id, ''), e.source_id)]) AS evidence
}
RETURN queries, evidence
