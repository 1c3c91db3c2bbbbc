// what: asks the vector indexes, which are of all namespaces, for the `candidates` nearest queries, evidence and concepts, gives
//     those of this namespace with their cosine (of evidence, whose index is quantised, worked out anew), and looks up the
//     concepts of these ids
// parameters: namespace, query_id, vectors (the vector in a list, or an empty list), candidates, concepts
// returns: one row: own, linked (whether concepts were made here), queries, evidence, similar, named (lists of [id, score, text,
//     query id, cluster, entities]), given (how many the index of queries, evidence and concepts gave, of all namespaces)
CALL () {
  OPTIONAL MATCH (q:Query {id: $query_id})
  WHERE q.namespace = $namespace
  RETURN q IS NOT NULL AS own
}
CALL () {
  UNWIND $vectors AS vector
  CALL db.index.vector.queryNodes('query_embedding', $candidates, vector) YIELD node AS q, score
  RETURN count(*) AS given_queries, collect(
    CASE q.namespace
      WHEN $namespace THEN [q.id, 2.0 * score - 1.0, q.text, '', '', 0]
    END) AS queries
}
CALL () {
  UNWIND $vectors AS vector
  CALL db.index.vector.queryNodes('evidence_embedding', $candidates, vector) YIELD node AS e
  RETURN count(*) AS given_evidence, collect(
    CASE
      WHEN e.namespace = $namespace AND e.kept
        THEN [e.id, 2.0 * vector.similarity.cosine(e.embedding, vector) - 1.0, e.text, e.query_id, '', 0]
    END) AS evidence
}
CALL () {
  UNWIND $vectors AS vector
  CALL db.index.vector.queryNodes('concept_embedding', $candidates, vector) YIELD node AS c, score
  RETURN count(*) AS given_similar, collect(
    CASE c.namespace
      WHEN $namespace THEN [c.id, 2.0 * score - 1.0, c.name, '', coalesce(nullIf(c.cluster, ''), c.id),
        coalesce(c.entities, 0)]
    END) AS similar
}
CALL () {
  UNWIND $concepts AS id
  MATCH (c:Concept {id: id})
  USING INDEX SEEK c:Concept(id)
  WHERE c.namespace = $namespace
  RETURN collect([c.id, 1.0, c.name, '', coalesce(nullIf(c.cluster, ''), c.id), coalesce(c.entities, 0)]) AS named
}
RETURN own,
  EXISTS {
    MATCH (some:Concept)
    USING INDEX some:Concept(namespace, cluster)
    WHERE some.namespace = $namespace AND some.cluster IS NOT NULL
  } AS linked,
  queries, evidence, similar, named, [given_queries, given_evidence, given_similar] AS given
