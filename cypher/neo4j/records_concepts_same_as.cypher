// what: reads the judgements that begin at concepts
// parameters: namespace, concept_ids
// returns: one row a judgement: its properties, source, target
UNWIND $concept_ids AS id
MATCH (a:Concept {id: id})-[s:SAME_AS]->(b:Concept)
USING INDEX SEEK a:Concept(id)
WHERE s.namespace = $namespace
RETURN
  s.id AS id, s.namespace AS namespace, s.method AS method, s.score AS score, s.created_at AS created_at,
  s.undone_at AS undone_at, a.id AS source, b.id AS target
