// what: deletes the judgements on concepts that stand, from maps of ids: id
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})-[s:SAME_AS]-(:Concept)
WHERE s.undone_at = ''
DELETE s
