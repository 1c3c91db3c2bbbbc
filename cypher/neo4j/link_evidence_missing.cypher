// what: finds evidence without a vector, page by page
// parameters: namespace, after, limit
// returns: one row a node, by id: id, text
MATCH (n:Evidence)
USING INDEX n:Evidence(id)
WHERE n.namespace = $namespace AND n.id > $after AND n.embedding IS NULL
RETURN n.id AS id, n.text AS text
ORDER BY id
LIMIT $limit
