// what: deletes judgements that stand, from maps of ids: id, left, right
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (a:Concept {id: r.left})
MATCH (b:Concept {id: r.right})
MATCH (a)-[s:SAME_AS]->(b)
WHERE s.id = r.id AND s.undone_at = ''
DELETE s
