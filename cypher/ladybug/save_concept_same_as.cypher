// what: writes judgements from maps of their properties; one that is undone stays as it is
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (a:Concept {id: r.left})
MATCH (b:Concept {id: r.right})
MERGE (a)-[s:SAME_AS {id: r.id}]->(b)
ON CREATE SET
  s.namespace = r.namespace, s.method = r.method, s.score = r.score, s.created_at = r.created_at, s.undone_at = ''
ON MATCH SET
  s.method = CASE WHEN s.undone_at = '' THEN r.method ELSE s.method END,
  s.score = CASE WHEN s.undone_at = '' THEN r.score ELSE s.score END
