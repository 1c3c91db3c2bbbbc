// what: asks the vector index of all namespaces for the `candidates` nearest queries, and ranks those of this namespace by
//     their exact cosine; fewer than k rows mean that the index held too few of them
// parameters: namespace, vector, candidates, k
// returns: at most k rows, nearest first: id, cosine
CALL db.index.vector.queryNodes('query_embedding', $candidates, $vector) YIELD node AS q
WHERE q.namespace = $namespace
WITH q.id AS id, 2.0 * vector.similarity.cosine(q.embedding, $vector) - 1.0 AS cosine
RETURN id, cosine
ORDER BY cosine DESC, id
LIMIT $k
