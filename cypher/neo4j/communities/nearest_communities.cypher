// what: asks the vector index, which is of all namespaces, for the `candidates` communities nearest to a vector; where all that it gave
//     hides some of this namespace, ranks all of this namespace instead
// parameters: namespace, vector, candidates, k
// returns: one row a community, at least the k nearest: id, score (the cosine), name, summary
CALL () {
  CALL db.index.vector.queryNodes('community_embedding', $candidates, $vector) YIELD node AS c, score
  RETURN count(*) AS given, collect(CASE WHEN c.namespace = $namespace THEN [c, 2.0 * score - 1.0] END) AS found
}
CALL (given, found) {
  WITH given, found
  WHERE given < $candidates OR size(found) >= $k
  UNWIND found AS pair
  RETURN pair[0] AS c, pair[1] AS score
UNION ALL
  WITH given, found
  WHERE given >= $candidates AND size(found) < $k
  MATCH (c:Community)
  USING INDEX SEEK c:Community(namespace, id)
  WHERE c.namespace = $namespace AND c.id IS NOT NULL AND size(c.embedding) = size($vector)
    AND any(x IN c.embedding WHERE x <> 0.0)
  WITH c, 2.0 * vector.similarity.cosine(c.embedding, $vector) - 1.0 AS score
  ORDER BY score DESC, c.id
  LIMIT $k
  RETURN c, score
}
RETURN c.id AS id, score, c.name AS name, c.summary AS summary
