// what: reads the judgements on concepts
// parameters: namespace
// returns: one row a judgement: its properties, source, target
MATCH (a:Concept)-[s:SAME_AS]->(b:Concept)
WHERE s.namespace = $namespace
RETURN
  s.id AS id, s.namespace AS namespace, s.method AS method, s.score AS score, s.created_at AS created_at,
  s.undone_at AS undone_at, a.id AS source, b.id AS target
