// what: reads what the answers of the namespace are linked to
// parameters: namespace
// returns: one row a relationship: type, source, target
MATCH (s:Answer)-[r:ANSWERS]->(o) WHERE r.namespace = $namespace
RETURN 'ANSWERS' AS type, s.id AS source, o.id AS target
UNION ALL
MATCH (s:Answer)-[r:USED]->(o:Evidence) WHERE r.namespace = $namespace
RETURN 'USED' AS type, s.id AS source, o.id AS target
