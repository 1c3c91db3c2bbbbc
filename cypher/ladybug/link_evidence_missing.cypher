// what: finds kept evidence without a vector, page by page
// parameters: namespace, after, limit
// returns: one row a node, by id: id, text
MATCH (n:Evidence)
WHERE n.namespace = $namespace AND n.id > $after AND n.kept AND n.embedding IS NULL
RETURN n.id AS id, n.text AS text
ORDER BY id
LIMIT $limit
