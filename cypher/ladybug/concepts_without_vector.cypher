// what: finds concepts without a vector, page by page
// parameters: namespace, after, limit
// returns: one row a node, by id: id, text
MATCH (n:Concept)
WHERE n.namespace = $namespace AND n.id > $after AND n.embedding IS NULL AND n.name <> ''
RETURN n.id AS id, n.name AS text
ORDER BY id
LIMIT $limit
