// what: reads the relationships of the namespace that have no properties of their own
// parameters: namespace
// returns: one row a relationship: type, source, target
MATCH (s)-[r:HAS_EVIDENCE]->(o) WHERE r.namespace = $namespace
RETURN 'HAS_EVIDENCE' AS type, s.id AS source, o.id AS target
UNION ALL
MATCH (s)-[r:MENTIONS]->(o) WHERE r.namespace = $namespace
RETURN 'MENTIONS' AS type, s.id AS source, o.id AS target
UNION ALL
MATCH (s)-[r:GENERATED_BY]->(o) WHERE r.namespace = $namespace
RETURN 'GENERATED_BY' AS type, s.id AS source, o.id AS target
UNION ALL
MATCH (s)-[r:ANSWERS]->(o) WHERE r.namespace = $namespace
RETURN 'ANSWERS' AS type, s.id AS source, o.id AS target
UNION ALL
MATCH (s)-[r:USED]->(o) WHERE r.namespace = $namespace
RETURN 'USED' AS type, s.id AS source, o.id AS target
