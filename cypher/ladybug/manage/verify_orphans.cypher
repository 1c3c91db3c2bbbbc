// what: finds entities, evidence and teacher calls that belong to no stored query
// parameters: namespace
// returns: one row a node: id, label
MATCH (n:Entity)
WHERE n.namespace = $namespace AND NOT EXISTS { MATCH (q:Source)-[:MENTIONS]->(n) WHERE q.id = n.source_id }
RETURN n.id AS id, 'Entity' AS label
UNION ALL
MATCH (n:Evidence)
WHERE n.namespace = $namespace AND NOT EXISTS { MATCH (q:Source)-[:HAS_EVIDENCE]->(n) WHERE q.id = n.source_id }
RETURN n.id AS id, 'Evidence' AS label
UNION ALL
MATCH (n:TeacherCall)
WHERE n.namespace = $namespace AND NOT EXISTS { MATCH (q:Source) WHERE q.id = n.source_id AND list_contains(q.call_ids, n.id) }
RETURN n.id AS id, 'TeacherCall' AS label
