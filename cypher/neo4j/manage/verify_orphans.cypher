// what: finds entities, evidence and teacher calls that belong to no stored query
// parameters: namespace
// returns: one row a node: id, label
MATCH (n:Entity)
USING INDEX SEEK n:Entity(namespace, source_id)
WHERE n.namespace = $namespace AND n.source_id IS NOT NULL AND NOT EXISTS { (:Source {id: n.source_id})-[:MENTIONS]->(n) }
RETURN n.id AS id, 'Entity' AS label
UNION ALL
MATCH (n:Evidence)
USING INDEX SEEK n:Evidence(namespace, source_id)
WHERE n.namespace = $namespace AND n.source_id IS NOT NULL AND NOT EXISTS { (:Source {id: n.source_id})-[:HAS_EVIDENCE]->(n) }
RETURN n.id AS id, 'Evidence' AS label
UNION ALL
MATCH (n:TeacherCall)
USING INDEX SEEK n:TeacherCall(namespace, source_id)
WHERE n.namespace = $namespace AND n.source_id IS NOT NULL AND NOT EXISTS { (:Source {id: n.source_id}) }
RETURN n.id AS id, 'TeacherCall' AS label
