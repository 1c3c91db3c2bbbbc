// what: finds judgements whose id begins so, on concepts whose name has a text in it, in lower case
// parameters: namespace, text, prefix, limit
// returns: one row a judgement, by the names: its properties, left, right (ids), left_name, right_name
MATCH (a:Concept)-[s:SAME_AS]->(b:Concept)
WHERE s.namespace = $namespace AND s.id STARTS WITH $prefix
  AND ($text = '' OR lower(a.name) CONTAINS $text OR lower(b.name) CONTAINS $text)
RETURN
  s.id AS id, a.id AS left, b.id AS right, s.method AS method, s.score AS score, s.created_at AS created_at,
  s.undone_at AS undone_at, a.name AS left_name, b.name AS right_name
ORDER BY left_name, right_name, id
LIMIT $limit
