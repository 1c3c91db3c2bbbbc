// what: the nodes that no query owns
// parameters: namespace
// returns: one row a chunk, document or concept: label, id, properties
MATCH (n:Chunk|Document|Concept)
WHERE n.namespace = $namespace
RETURN labels(n)[0] AS label, n.id AS id, properties(n) AS properties
