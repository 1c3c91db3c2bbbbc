// what: deletes judgements that stand and rest on an alias, from maps of ids: id, left, right
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (a:Concept {id: r.left})
MATCH (b:Concept {id: r.right})
MATCH (a)-[s:SAME_AS]->(b)
WHERE s.id = r.id AND s.method = 'alias' AND s.undone_at = ''
DELETE s
