// what: finds judgements whose id begins with a prefix
// parameters: namespace, prefix, limit
// returns: one row a judgement, by id: its properties, left, right (ids), left_name, right_name
MATCH (a:Concept)-[s:SAME_AS]->(b:Concept)
WHERE s.namespace = $namespace AND a.name <> '' AND b.name <> '' AND s.id STARTS WITH $prefix
RETURN
  s.id AS id, a.id AS left, b.id AS right, s.method AS method, s.score AS score, s.created_at AS created_at,
  s.undone_at AS undone_at, a.name AS left_name, b.name AS right_name
ORDER BY id
LIMIT $limit
