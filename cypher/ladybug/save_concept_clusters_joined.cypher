// what: counts the standing judgements on concepts, from maps of ids: id
// parameters: rows
// returns: one row a concept: id, entities, cluster, joined
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
OPTIONAL MATCH (c)-[s:SAME_AS]-(:Concept)
WHERE s.undone_at = ''
RETURN c.id AS id, c.entities AS entities, c.cluster AS cluster, count(s.id) AS joined
