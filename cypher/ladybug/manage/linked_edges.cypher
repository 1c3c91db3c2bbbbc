// what: reads the simple edges between things: an entity's cluster, else its concept, else the entity itself
// parameters: namespace
// returns: one row an edge: id, source_id, source, source_name, target, target_name, statement, predicates, confidence, support,
//     contradicts, source_entity, target_entity
MATCH (s:Entity)-[r:RELATED]->(o:Entity)
WHERE r.namespace = $namespace AND r.id IS NOT NULL AND r.source_id IS NOT NULL AND r.statement IS NOT NULL
  AND r.predicates IS NOT NULL AND r.confidence IS NOT NULL AND r.support IS NOT NULL
OPTIONAL MATCH (s)-[:REFERS_TO]->(a:Concept)
OPTIONAL MATCH (o)-[:REFERS_TO]->(b:Concept)
RETURN
  r.id AS id, r.source_id AS source_id,
  CASE WHEN a.id IS NULL THEN s.id WHEN a.cluster IS NULL OR a.cluster = '' THEN a.id ELSE a.cluster END AS source,
  coalesce(s.name, '') AS source_name,
  CASE WHEN b.id IS NULL THEN o.id WHEN b.cluster IS NULL OR b.cluster = '' THEN b.id ELSE b.cluster END AS target,
  coalesce(o.name, '') AS target_name,
  r.statement AS statement, r.predicates AS predicates, r.confidence AS confidence, r.support AS support,
  coalesce(r.contradicts, []) AS contradicts, s.id AS source_entity, o.id AS target_entity
