// what: finds evidence without a vector, page by page
// parameters: namespace, after (the last id of the page before), reached (by what that id is found in the index), limit
// returns: one row a node: id, text
MATCH (n:Evidence)
USING INDEX n:Evidence(namespace, query_id)
WHERE
  n.namespace = $namespace AND n.query_id >= $reached AND (n.query_id > $reached OR n.id > $after) AND n.embedding IS NULL
WITH n
ORDER BY n.namespace, n.query_id, n.id
LIMIT $limit
RETURN n.id AS id, n.text AS text
