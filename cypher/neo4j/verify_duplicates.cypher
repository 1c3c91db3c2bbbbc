// what: finds ids that two nodes of a label, or two relationships of a type, have (a constraint must have been dropped)
// parameters: namespace
// returns: one row an id: id, name
CALL () {
  MATCH (n:Query|Evidence|Entity|TeacherCall|Chunk|Document|Concept|Answer)
  WHERE n.namespace = $namespace
  RETURN n.id AS id, labels(n)[0] AS name
  UNION ALL
  MATCH ()-[r:TRIPLE|RELATED]->()
  WHERE r.namespace = $namespace
  RETURN r.id AS id, type(r) AS name
}
WITH id, name, count(*) AS number
WHERE number > 1
RETURN id, name
