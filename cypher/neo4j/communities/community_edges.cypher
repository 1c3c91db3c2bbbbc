// what: reads the simple edges among the entities of a community, as `linked_edges` reads all
// parameters: namespace, id
// returns: one row an edge: id, source_id, source, source_name, target, target_name, statement, predicates, confidence, support,
//     contradicts, source_entity, target_entity
MATCH (c:Community {id: $id})
USING INDEX SEEK c:Community(id)
WHERE c.namespace = $namespace
MATCH (c)<-[:IN_COMMUNITY]-(s:Entity)-[r:RELATED]->(o:Entity)
WHERE r.id IS NOT NULL AND r.source_id IS NOT NULL AND r.statement IS NOT NULL AND r.predicates IS NOT NULL
  AND r.confidence IS NOT NULL AND r.support IS NOT NULL AND EXISTS { (o)-[:IN_COMMUNITY]->(c) }
OPTIONAL MATCH (s)-[:REFERS_TO]->(a)
OPTIONAL MATCH (o)-[:REFERS_TO]->(b)
RETURN
  r.id AS id, r.source_id AS source_id,
  CASE WHEN a IS NULL THEN s.id WHEN coalesce(a.cluster, '') = '' THEN a.id ELSE a.cluster END AS source,
  coalesce(s.name, '') AS source_name,
  CASE WHEN b IS NULL THEN o.id WHEN coalesce(b.cluster, '') = '' THEN b.id ELSE b.cluster END AS target,
  coalesce(o.name, '') AS target_name,
  r.statement AS statement, r.predicates AS predicates, r.confidence AS confidence, r.support AS support,
  coalesce(r.contradicts, []) AS contradicts, s.id AS source_entity, o.id AS target_entity
