// what: reads the judgements on concepts, from maps of ids: id
// parameters: namespace, rows
// returns: one row a judgement (on two of these: two): id, left, right (ids of the concepts), left_name, right_name, method, score, created_at, undone_at
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
WHERE c.namespace = $namespace
OPTIONAL MATCH (c)-[s:SAME_AS]-(other:Concept)
WITH c, s, other
WHERE s.id IS NOT NULL
RETURN
  s.id AS id, c.id AS left, other.id AS right, s.method AS method, s.score AS score, s.created_at AS created_at,
  s.undone_at AS undone_at, c.name AS left_name, other.name AS right_name
