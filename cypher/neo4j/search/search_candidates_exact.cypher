// what: ranks all queries, evidence or concepts of the namespace, whichever `lists` names, by their cosine to the vector
// parameters: namespace, vector, lists (of queries, evidence, similar), k
// returns: one row: queries, evidence, similar (lists of [id, score, text, query id, cluster, entities], nearest first, at most k)
CALL () {
  UNWIND [name IN $lists WHERE name = 'queries'] AS name
  MATCH (q:Query)
  USING INDEX SEEK q:Query(namespace, id)
  WHERE q.namespace = $namespace AND q.id IS NOT NULL AND size(q.embedding) = size($vector)
    AND any(x IN q.embedding WHERE x <> 0.0)
  WITH q, 2.0 * vector.similarity.cosine(q.embedding, $vector) - 1.0 AS cosine
  ORDER BY cosine DESC, q.id
  LIMIT $k
  RETURN collect([q.id, cosine, q.text, '', '', 0]) AS queries
}
CALL () {
  UNWIND [name IN $lists WHERE name = 'evidence'] AS name
  MATCH (e:Evidence)
  USING INDEX SEEK e:Evidence(namespace, source_id)
  WHERE e.namespace = $namespace AND e.source_id IS NOT NULL AND e.kept AND size(e.embedding) = size($vector)
    AND any(x IN e.embedding WHERE x <> 0.0)
  WITH e, 2.0 * vector.similarity.cosine(e.embedding, $vector) - 1.0 AS cosine
  ORDER BY cosine DESC, e.id
  LIMIT $k
  RETURN collect([e.id, cosine, e.text, e.source_id, '', 0]) AS evidence
}
CALL () {
  UNWIND [name IN $lists WHERE name = 'similar'] AS name
  MATCH (c:Concept)
  USING INDEX SEEK c:Concept(namespace, cluster)
  WHERE c.namespace = $namespace AND c.cluster IS NOT NULL AND size(c.embedding) = size($vector)
    AND any(x IN c.embedding WHERE x <> 0.0)
  WITH c, 2.0 * vector.similarity.cosine(c.embedding, $vector) - 1.0 AS cosine
  ORDER BY cosine DESC, c.id
  LIMIT $k
  RETURN collect([c.id, cosine, c.name, '', coalesce(nullIf(c.cluster, ''), c.id), coalesce(c.entities, 0)]) AS similar
}
RETURN queries, evidence, similar
