// what: pages through the namespace's answers
// parameters: namespace, after, limit
// returns: one row an answer, by id: the properties as one map, the ids of the queries and of the evidence it is linked to
MATCH (a:Answer)
USING INDEX SEEK a:Answer(namespace, id)
WHERE a.namespace = $namespace AND a.id > $after
WITH a
ORDER BY a.namespace, a.id
LIMIT $limit
RETURN properties(a) AS properties, [(a)-[:ANSWERS]->(q) | q.id] AS source_ids, [(a)-[:USED]->(e) | e.id] AS evidence_ids
ORDER BY properties.id
