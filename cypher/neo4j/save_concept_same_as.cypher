// what: writes judgements, by lists in the order of the properties; one that is undone stays as it is
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS row
MATCH (a:Concept {id: row[1]})
USING INDEX SEEK a:Concept(id)
MATCH (b:Concept {id: row[2]})
USING INDEX SEEK b:Concept(id)
WHERE a.namespace = $namespace AND b.namespace = $namespace
MERGE (a)-[s:SAME_AS {id: row[0]}]->(b)
ON CREATE SET s.namespace = $namespace, s.created_at = row[5], s.undone_at = ''
WITH s, row
WHERE s.undone_at = ''
SET s.method = row[3], s.score = row[4]
