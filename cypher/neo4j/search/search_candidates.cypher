// what: asks the vector indexes, which are of all namespaces, for the `candidates` nearest queries, evidence and concepts, at the
//     same time; gives those of this namespace with their cosine (of evidence, whose index is quantised, worked out anew), and
//     looks up the concepts of these ids. It commits itself: inside a transaction of the client it is refused
// parameters: namespace, source_id, vectors (the vector in a list, or an empty list), candidates, concepts
// returns: one row: own, linked (whether concepts were made here), named (a list of [id, score, text, query id, cluster, entities]),
//     lists (of queries, evidence and concepts each: [its name, how many the index gave, of all namespaces, a list as above])
UNWIND [['evidence', 'evidence_embedding'], ['queries', 'query_embedding'], ['similar', 'concept_embedding']] AS index
CALL (index) {
  UNWIND $vectors AS vector
  CALL db.index.vector.queryNodes(index[1], $candidates, vector) YIELD node AS n, score
  RETURN count(*) AS given, collect(
    CASE
      WHEN n.namespace = $namespace AND (index[0] <> 'evidence' OR n.kept) THEN CASE index[0]
        WHEN 'queries' THEN [n.id, 2.0 * score - 1.0, n.text, '', '', 0]
        WHEN 'evidence' THEN [n.id, 2.0 * vector.similarity.cosine(n.embedding, vector) - 1.0, n.text, n.source_id, '', 0]
        ELSE [n.id, 2.0 * score - 1.0, n.name, '', coalesce(nullIf(n.cluster, ''), n.id), coalesce(n.entities, 0)]
      END
    END) AS found
} IN 3 CONCURRENT TRANSACTIONS OF 1 ROW
WITH collect([index[0], given, found]) AS lists
CALL () {
  OPTIONAL MATCH (q:Query {id: $source_id})
  WHERE q.namespace = $namespace
  RETURN q IS NOT NULL AS own
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
    USING INDEX SEEK some:Concept(namespace, cluster)
    WHERE some.namespace = $namespace AND some.cluster IS NOT NULL
  } AS linked,
  named, lists
