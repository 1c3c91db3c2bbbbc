// what: counts the nodes and relationships of the namespace
// parameters: namespace
// returns: one row a label and relationship type: name, number
MATCH (n:Source) WHERE n.namespace = $namespace AND n.kind = 'query'
RETURN 'Query' AS name, count(*) AS number
UNION ALL
MATCH (n:Evidence) WHERE n.namespace = $namespace
RETURN 'Evidence' AS name, count(*) AS number
UNION ALL
MATCH (n:Entity) WHERE n.namespace = $namespace
RETURN 'Entity' AS name, count(*) AS number
UNION ALL
MATCH (n:TeacherCall) WHERE n.namespace = $namespace
RETURN 'TeacherCall' AS name, count(*) AS number
UNION ALL
MATCH (n:Chunk) WHERE n.namespace = $namespace
RETURN 'Chunk' AS name, count(*) AS number
UNION ALL
MATCH (n:Source) WHERE n.namespace = $namespace AND n.kind = 'document'
RETURN 'Document' AS name, count(*) AS number
UNION ALL
MATCH (n:Concept) WHERE n.namespace = $namespace
RETURN 'Concept' AS name, count(*) AS number
UNION ALL
MATCH (n:Community) WHERE n.namespace = $namespace
RETURN 'Community' AS name, count(*) AS number
UNION ALL
MATCH (n:Answer) WHERE n.namespace = $namespace
RETURN 'Answer' AS name, count(*) AS number
UNION ALL
MATCH (n:Correction) WHERE n.namespace = $namespace
RETURN 'Correction' AS name, count(*) AS number
UNION ALL
MATCH ()-[r:HAS_EVIDENCE]->() WHERE r.namespace = $namespace
RETURN 'HAS_EVIDENCE' AS name, count(*) AS number
UNION ALL
MATCH ()-[r:MENTIONS]->() WHERE r.namespace = $namespace
RETURN 'MENTIONS' AS name, count(*) AS number
UNION ALL
MATCH ()-[r:GENERATED_BY]->() WHERE r.namespace = $namespace
RETURN 'GENERATED_BY' AS name, count(*) AS number
UNION ALL
MATCH ()-[r:FROM_CHUNK]->() WHERE r.namespace = $namespace
RETURN 'FROM_CHUNK' AS name, count(*) AS number
UNION ALL
MATCH ()-[r:HAS_CHUNK]->() WHERE r.namespace = $namespace
RETURN 'HAS_CHUNK' AS name, count(*) AS number
UNION ALL
MATCH ()-[r:TRIPLE]->() WHERE r.namespace = $namespace
RETURN 'TRIPLE' AS name, count(*) AS number
UNION ALL
MATCH ()-[r:RELATED]->() WHERE r.namespace = $namespace
RETURN 'RELATED' AS name, count(*) AS number
UNION ALL
MATCH ()-[r:REFERS_TO]->() WHERE r.namespace = $namespace
RETURN 'REFERS_TO' AS name, count(*) AS number
UNION ALL
MATCH ()-[r:SAME_AS]->() WHERE r.namespace = $namespace
RETURN 'SAME_AS' AS name, count(*) AS number
UNION ALL
MATCH ()-[r:IN_COMMUNITY]->() WHERE r.namespace = $namespace
RETURN 'IN_COMMUNITY' AS name, count(*) AS number
UNION ALL
MATCH ()-[r:ANSWERS]->() WHERE r.namespace = $namespace
RETURN 'ANSWERS' AS name, count(*) AS number
UNION ALL
MATCH ()-[r:USED]->() WHERE r.namespace = $namespace
RETURN 'USED' AS name, count(*) AS number
