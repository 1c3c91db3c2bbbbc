// what: deletes judgements, from maps of them: id, left, right (ids)
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (a:Concept {id: r.left})
WHERE a.namespace = $namespace
MATCH (b:Concept {id: r.right})
MATCH (a)-[s:SAME_AS]->(b)
WHERE s.id = r.id
DELETE s
