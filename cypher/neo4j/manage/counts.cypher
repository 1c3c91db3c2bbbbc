// what: counts the nodes and relationships of the namespace
// parameters: namespace
// returns: one row a label and relationship type: name, number
MATCH (n:Query)
USING INDEX SEEK n:Query(namespace, id)
WHERE n.namespace = $namespace AND n.id IS NOT NULL
WITH count(n) AS number RETURN 'Query' AS name, number
UNION ALL
MATCH (n:Evidence)
USING INDEX SEEK n:Evidence(namespace, source_id)
WHERE n.namespace = $namespace AND n.source_id IS NOT NULL
WITH count(n) AS number RETURN 'Evidence' AS name, number
UNION ALL
MATCH (n:Entity)
USING INDEX SEEK n:Entity(namespace, source_id)
WHERE n.namespace = $namespace AND n.source_id IS NOT NULL
WITH count(n) AS number RETURN 'Entity' AS name, number
UNION ALL
MATCH (n:TeacherCall)
USING INDEX SEEK n:TeacherCall(namespace, source_id)
WHERE n.namespace = $namespace AND n.source_id IS NOT NULL
WITH count(n) AS number RETURN 'TeacherCall' AS name, number
UNION ALL
MATCH (n:Chunk)
USING INDEX SEEK n:Chunk(namespace, source_id)
WHERE n.namespace = $namespace AND n.source_id IS NOT NULL
WITH count(n) AS number RETURN 'Chunk' AS name, number
UNION ALL
MATCH (n:Document)
USING INDEX SEEK n:Document(namespace, id)
WHERE n.namespace = $namespace AND n.id IS NOT NULL
WITH count(n) AS number RETURN 'Document' AS name, number
UNION ALL
MATCH (n:Concept)
USING INDEX SEEK n:Concept(namespace, cluster)
WHERE n.namespace = $namespace AND n.cluster IS NOT NULL
WITH count(n) AS number RETURN 'Concept' AS name, number
UNION ALL
MATCH (n:Community)
USING INDEX SEEK n:Community(namespace, id)
WHERE n.namespace = $namespace AND n.id IS NOT NULL
WITH count(n) AS number RETURN 'Community' AS name, number
UNION ALL
MATCH (n:Answer)
USING INDEX SEEK n:Answer(namespace, id)
WHERE n.namespace = $namespace AND n.id IS NOT NULL
WITH count(n) AS number RETURN 'Answer' AS name, number
UNION ALL
MATCH (n:Correction)
USING INDEX SEEK n:Correction(namespace, id)
WHERE n.namespace = $namespace AND n.id IS NOT NULL
WITH count(n) AS number RETURN 'Correction' AS name, number
UNION ALL
MATCH (n:Source)-[r:HAS_EVIDENCE]->()
USING INDEX SEEK n:Source(namespace, id)
WHERE n.namespace = $namespace AND n.id IS NOT NULL
WITH count(r) AS number RETURN 'HAS_EVIDENCE' AS name, number
UNION ALL
MATCH (n:Source)-[r:MENTIONS]->()
USING INDEX SEEK n:Source(namespace, id)
WHERE n.namespace = $namespace AND n.id IS NOT NULL
WITH count(r) AS number RETURN 'MENTIONS' AS name, number
UNION ALL
MATCH (n:Evidence)-[r:GENERATED_BY]->()
USING INDEX SEEK n:Evidence(namespace, source_id)
WHERE n.namespace = $namespace AND n.source_id IS NOT NULL
WITH count(r) AS number RETURN 'GENERATED_BY' AS name, number
UNION ALL
MATCH (n:Evidence)-[r:FROM_CHUNK]->()
USING INDEX SEEK n:Evidence(namespace, source_id)
WHERE n.namespace = $namespace AND n.source_id IS NOT NULL
WITH count(r) AS number RETURN 'FROM_CHUNK' AS name, number
UNION ALL
MATCH (n:Document)-[r:HAS_CHUNK]->()
USING INDEX SEEK n:Document(namespace, id)
WHERE n.namespace = $namespace AND n.id IS NOT NULL
WITH count(r) AS number RETURN 'HAS_CHUNK' AS name, number
UNION ALL
MATCH ()-[r:TRIPLE]->()
USING INDEX SEEK r:TRIPLE(namespace, source_id)
WHERE r.namespace = $namespace AND r.source_id IS NOT NULL
WITH count(r) AS number RETURN 'TRIPLE' AS name, number
UNION ALL
MATCH ()-[r:RELATED]->()
USING INDEX SEEK r:RELATED(namespace, source_id)
WHERE r.namespace = $namespace AND r.source_id IS NOT NULL
WITH count(r) AS number RETURN 'RELATED' AS name, number
UNION ALL
MATCH (n:Entity)-[r:REFERS_TO]->()
USING INDEX SEEK n:Entity(namespace, source_id)
WHERE n.namespace = $namespace AND n.source_id IS NOT NULL
WITH count(r) AS number RETURN 'REFERS_TO' AS name, number
UNION ALL
MATCH (n:Concept)-[r:SAME_AS]->()
USING INDEX SEEK n:Concept(namespace, cluster)
WHERE n.namespace = $namespace AND n.cluster IS NOT NULL
WITH count(r) AS number RETURN 'SAME_AS' AS name, number
UNION ALL
MATCH (n:Community)<-[r:IN_COMMUNITY]-()
USING INDEX SEEK n:Community(namespace, id)
WHERE n.namespace = $namespace AND n.id IS NOT NULL
WITH count(r) AS number RETURN 'IN_COMMUNITY' AS name, number
UNION ALL
MATCH (n:Answer)-[r:ANSWERS]->()
USING INDEX SEEK n:Answer(namespace, id)
WHERE n.namespace = $namespace AND n.id IS NOT NULL
WITH count(r) AS number RETURN 'ANSWERS' AS name, number
UNION ALL
MATCH (n:Answer)-[r:USED]->()
USING INDEX SEEK n:Answer(namespace, id)
WHERE n.namespace = $namespace AND n.id IS NOT NULL
WITH count(r) AS number RETURN 'USED' AS name, number
