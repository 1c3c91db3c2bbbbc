// what: ranks all concepts of the namespace by their cosine to each vector
// parameters: namespace, vectors, k, floor
// returns: one row a vector: position, found (pairs of id and cosine)
UNWIND range(0, size($vectors) - 1) AS position
CALL (position) {
  MATCH (c:Concept)
  WHERE c.namespace = $namespace AND c.cluster IS NOT NULL AND size(c.embedding) = size($vectors[position])
  WITH c.id AS id, 2.0 * vector.similarity.cosine(c.embedding, $vectors[position]) - 1.0 AS cosine
  WHERE cosine >= $floor
  WITH id, cosine
  ORDER BY cosine DESC, id
  LIMIT $k
  RETURN collect([id, cosine]) AS found
}
RETURN position, found
