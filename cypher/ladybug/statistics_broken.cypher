// what: counts the triples and simple edges that lack what is counted of them: somebody tampered
// parameters: namespace
// returns: one row a type: number
MATCH (s:Entity)-[t:TRIPLE]->(o:Entity)
WHERE t.namespace = $namespace AND t.source_id IS NOT NULL
  AND (t.id IS NULL OR t.predicate IS NULL OR s.id IS NULL OR o.id IS NULL)
RETURN count(*) AS number
UNION ALL
MATCH (s:Entity)-[r:RELATED]->(o:Entity)
WHERE r.namespace = $namespace AND r.source_id IS NOT NULL
  AND (r.id IS NULL OR r.confidence IS NULL OR r.statement IS NULL OR r.support IS NULL OR s.id IS NULL OR o.id IS NULL)
RETURN count(*) AS number
