// what: counts the entities by how many simple edges they have
// parameters: namespace
// returns: one row a degree: degree, number
MATCH (n:Entity)
WHERE n.namespace = $namespace
OPTIONAL MATCH (n)-[r:RELATED]-(:Entity)
WITH n.id AS id, count(r.id) AS degree
RETURN degree, count(*) AS number
ORDER BY degree
