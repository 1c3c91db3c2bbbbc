// what: counts the entities by how many simple edges they have
// parameters: namespace
// returns: one row a degree: degree, number
MATCH (n:Entity)
USING INDEX SEEK n:Entity(namespace, source_id)
WHERE n.namespace = $namespace AND n.source_id IS NOT NULL
WITH COUNT { (n)-[:RELATED]-() } AS degree
RETURN degree, count(*) AS number
ORDER BY degree
