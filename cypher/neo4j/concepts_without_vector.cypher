// what: finds concepts without a vector, page by page
// parameters: namespace, after (the last id of the page before), reached (by what that id is found in the index), limit
// returns: one row a node: id, text
MATCH (n:Concept)
USING INDEX n:Concept(namespace, cluster)
WHERE
  n.namespace = $namespace AND n.cluster >= $reached AND (n.cluster > $reached OR n.id > $after) AND n.embedding IS NULL
WITH n
ORDER BY n.namespace, n.cluster, n.id
LIMIT $limit
RETURN n.id AS id, n.name AS text
