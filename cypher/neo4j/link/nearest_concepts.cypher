// what: asks the vector index of all namespaces for the `candidates` nearest concepts of each vector
// parameters: namespace, vectors, candidates
// returns: one row a vector: position, seen (how many there were), farthest (the lowest cosine of these), found (pairs of id
//     and cosine, of this namespace)
UNWIND range(0, size($vectors) - 1) AS position
CALL (position) {
  CALL db.index.vector.queryNodes('concept_embedding', $candidates, $vectors[position]) YIELD node AS c, score
  RETURN
    count(*) AS seen, 2.0 * min(score) - 1.0 AS farthest,
    collect(CASE WHEN c.namespace = $namespace THEN [c.id, 2.0 * score - 1.0] END) AS found
}
RETURN position, seen, farthest, found
