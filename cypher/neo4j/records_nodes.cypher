// what: pages through the nodes that no query owns and that are no concepts
// parameters: namespace, after, limit
// returns: one row a chunk or document, by id: id, label, properties, targets (the ids of what it is part of)
MATCH (n:Chunk|Document)
WHERE n.namespace = $namespace AND n.id > $after
WITH n
ORDER BY n.id
LIMIT $limit
RETURN n.id AS id, labels(n)[0] AS label, properties(n) AS properties, [(whole)-[:HAS_CHUNK]->(n) | whole.id] AS targets
ORDER BY id
