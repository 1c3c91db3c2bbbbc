// what: writes relationships as an earlier version left them
// parameters: rows
// returns: nothing
UNWIND $rows AS row
MATCH (s {id: row.source[1]})
WHERE row.source[0] IN labels(s)
MATCH (o {id: row.target[1]})
WHERE row.target[0] IN labels(o)
CREATE (s)-[r:$(row.type)]->(o)
SET r = row.properties
