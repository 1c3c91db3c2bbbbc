// what: reads the simple edges between things: an entity's cluster, else its concept, else the entity itself
// parameters: namespace
// returns: one row an edge: source, target, confidence
MATCH (s:Entity)-[r:RELATED]->(o:Entity)
WHERE r.namespace = $namespace AND r.confidence IS NOT NULL
OPTIONAL MATCH (s)-[:REFERS_TO]->(a:Concept)
OPTIONAL MATCH (o)-[:REFERS_TO]->(b:Concept)
RETURN
  CASE WHEN a.id IS NULL THEN s.id WHEN a.cluster IS NULL OR a.cluster = '' THEN a.id ELSE a.cluster END AS source,
  CASE WHEN b.id IS NULL THEN o.id WHEN b.cluster IS NULL OR b.cluster = '' THEN b.id ELSE b.cluster END AS target,
  r.confidence AS confidence
