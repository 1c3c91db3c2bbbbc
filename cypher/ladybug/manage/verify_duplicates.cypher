// what: finds ids that two relationships of a type have (a node's id is its primary key)
// parameters: namespace
// returns: one row an id: id, name
MATCH ()-[r:TRIPLE]->()
WHERE r.namespace = $namespace
WITH r.id AS id, count(*) AS number
WHERE number > 1
RETURN id, 'TRIPLE' AS name
UNION ALL
MATCH ()-[r:RELATED]->()
WHERE r.namespace = $namespace
WITH r.id AS id, count(*) AS number
WHERE number > 1
RETURN id, 'RELATED' AS name
