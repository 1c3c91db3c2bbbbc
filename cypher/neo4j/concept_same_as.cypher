// what: reads the judgements on concepts
// parameters: namespace, concept_ids
// returns: one row a judgement: id, left, right (ids of concepts), method, score, created_at, undone_at
UNWIND $concept_ids AS id
MATCH (c:Concept {id: id})
USING INDEX SEEK c:Concept(id)
WHERE c.namespace = $namespace
MATCH (c)-[s:SAME_AS]-()
WITH DISTINCT s
RETURN
  s.id AS id, startNode(s).id AS left, endNode(s).id AS right, s.method AS method, s.score AS score,
  s.created_at AS created_at, s.undone_at AS undone_at
