// what: writes judgements from maps of their properties, left, right (ids); one whose concepts are not both there is left out
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (a:Concept {id: r.left})
WHERE a.namespace = $namespace
MATCH (b:Concept {id: r.right})
MERGE (a)-[s:SAME_AS {id: r.id}]->(b)
SET s.namespace = $namespace, s.method = r.method, s.score = r.score, s.created_at = r.created_at, s.undone_at = r.undone_at
