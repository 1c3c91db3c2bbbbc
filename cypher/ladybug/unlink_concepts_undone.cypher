// what: finds the concepts on which there are judgements that were taken back, from maps of ids: id
// parameters: rows
// returns: one row a concept: id
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})-[s:SAME_AS]-(:Concept)
WHERE s.undone_at <> ''
RETURN DISTINCT c.id AS id
