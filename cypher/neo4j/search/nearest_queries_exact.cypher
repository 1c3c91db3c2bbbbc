// what: ranks all queries of the namespace by their cosine to the vector; a vector of zeros has cosine 0 with every other
// parameters: namespace, vector, k
// returns: at most k rows, nearest first: id, cosine
MATCH (q:Query)
WHERE q.namespace = $namespace AND q.id IS NOT NULL AND size(q.embedding) = size($vector)
WITH q.id AS id, q.embedding AS embedding
WITH id, CASE
  WHEN none(x IN $vector WHERE x <> 0.0) OR none(x IN embedding WHERE x <> 0.0) THEN 0.0
  ELSE 2.0 * vector.similarity.cosine(embedding, $vector) - 1.0
END AS cosine
RETURN id, cosine
ORDER BY cosine DESC, id
LIMIT $k
