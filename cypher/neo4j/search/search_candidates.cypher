// what: asks indexes, which are of all namespaces, at the same time: those of vectors for the `candidates` nearest queries and
//     evidence, and those of words for the `hits` best pieces of evidence and units. It gives those of this namespace (and of these
//     sources, if there are any) with their score: the cosine (of evidence, whose index is quantised, worked out anew), or that of
//     the words. It commits itself: inside a transaction of the client it is refused
// parameters: namespace, source_id, sources, vectors (the vector in a list, or an empty list), candidates,
//     texts (lists of [evidence_text or unit_text, a query of Lucene]), hits
// returns: one row: own, lists (of query_embedding, evidence_embedding and each of
//     the texts: [its index, how many this gave, of all namespaces, a list of [id, score, the question or the unit]])
UNWIND [index IN ['query_embedding', 'evidence_embedding'] WHERE $vectors <> [] | [index]] + $texts AS index
CALL (index) {
  CALL (index) {
    UNWIND CASE size(index) WHEN 1 THEN $vectors ELSE [] END AS vector
    CALL db.index.vector.queryNodes(index[0], $candidates, vector) YIELD node AS n, score
    RETURN n, CASE
      WHEN index[0] = 'query_embedding' THEN 2.0 * score - 1.0
      WHEN n.namespace = $namespace THEN 2.0 * vector.similarity.cosine(n.embedding, vector) - 1.0
    END AS score
  UNION ALL
    UNWIND CASE size(index) WHEN 1 THEN [] ELSE [index[1]] END AS words
    CALL db.index.fulltext.queryNodes(index[0], words, {limit: $hits}) YIELD node AS n, score
    RETURN n, score
  }
  RETURN count(*) AS given, collect(
    CASE
      WHEN n.namespace = $namespace AND ($sources = [] OR coalesce(n.source_id, n.id) IN $sources)
        AND (NOT index[0] IN ['evidence_embedding', 'evidence_text'] OR n.kept)
      THEN [n.id, score, CASE index[0]
        WHEN 'query_embedding' THEN n.text
        WHEN 'unit_text' THEN n.id
        ELSE coalesce(nullIf(n.chunk_id, ''), n.source_id)
      END]
    END) AS found
} IN 4 CONCURRENT TRANSACTIONS OF 1 ROW
WITH collect([index[0], given, found]) AS lists
CALL () {
  OPTIONAL MATCH (q:Query {id: $source_id})
  WHERE q.namespace = $namespace
  RETURN q IS NOT NULL AS own
}
RETURN own, lists
