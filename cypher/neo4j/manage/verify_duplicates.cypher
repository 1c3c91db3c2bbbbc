// what: finds ids that two nodes of a label, or two relationships of a type, have (a constraint must have been dropped).
//     What has lost the property that its index goes by (source_id, of concepts cluster) is not seen
// parameters: namespace
// returns: one row an id: id, name
CALL () {
  MATCH (n:Source)
  USING INDEX SEEK n:Source(namespace, id)
  WHERE n.namespace = $namespace AND n.id IS NOT NULL
  RETURN n.id AS id, CASE WHEN n:Document THEN 'Document' ELSE 'Query' END AS name
UNION ALL
  MATCH (n:Evidence)
  USING INDEX SEEK n:Evidence(namespace, source_id)
  WHERE n.namespace = $namespace AND n.source_id IS NOT NULL
  RETURN n.id AS id, 'Evidence' AS name
UNION ALL
  MATCH (n:Entity)
  USING INDEX SEEK n:Entity(namespace, source_id)
  WHERE n.namespace = $namespace AND n.source_id IS NOT NULL
  RETURN n.id AS id, 'Entity' AS name
UNION ALL
  MATCH (n:TeacherCall)
  USING INDEX SEEK n:TeacherCall(namespace, source_id)
  WHERE n.namespace = $namespace AND n.source_id IS NOT NULL
  RETURN n.id AS id, 'TeacherCall' AS name
UNION ALL
  MATCH (n:Chunk)
  USING INDEX SEEK n:Chunk(namespace, source_id)
  WHERE n.namespace = $namespace AND n.source_id IS NOT NULL
  RETURN n.id AS id, 'Chunk' AS name
UNION ALL
  MATCH (n:Concept)
  USING INDEX SEEK n:Concept(namespace, cluster)
  WHERE n.namespace = $namespace AND n.cluster IS NOT NULL
  RETURN n.id AS id, 'Concept' AS name
UNION ALL
  MATCH (n:Community)
  USING INDEX SEEK n:Community(namespace, id)
  WHERE n.namespace = $namespace AND n.id IS NOT NULL
  RETURN n.id AS id, 'Community' AS name
UNION ALL
  MATCH (n:Answer)
  USING INDEX SEEK n:Answer(namespace, id)
  WHERE n.namespace = $namespace AND n.id IS NOT NULL
  RETURN n.id AS id, 'Answer' AS name
UNION ALL
  MATCH ()-[r:TRIPLE]->()
  USING INDEX SEEK r:TRIPLE(namespace, source_id)
  WHERE r.namespace = $namespace AND r.source_id IS NOT NULL
  RETURN r.id AS id, 'TRIPLE' AS name
UNION ALL
  MATCH ()-[r:RELATED]->()
  USING INDEX SEEK r:RELATED(namespace, source_id)
  WHERE r.namespace = $namespace AND r.source_id IS NOT NULL
  RETURN r.id AS id, 'RELATED' AS name
}
WITH id, name, count(*) AS number
WHERE number > 1
RETURN id, name
