// what: reads the simple edges of a page of queries between things: an entity's cluster, else its concept, else the entity itself
// parameters: namespace, after, limit
// returns: one row a query, by id: id, edges (maps: id, source_id, source, source_name, target, target_name, statement,
//     predicates, confidence, support, contradicts, source_entity, target_entity)
MATCH (q:Source)
USING INDEX SEEK q:Source(namespace, id)
WHERE q.namespace = $namespace AND q.id > $after
WITH q
ORDER BY q.namespace, q.id
LIMIT $limit
CALL (q) {
  MATCH (s)-[r:RELATED {namespace: $namespace, source_id: q.id}]->(o)
  USING INDEX SEEK r:RELATED(namespace, source_id)
  WHERE r.id IS NOT NULL AND r.statement IS NOT NULL AND r.predicates IS NOT NULL AND r.confidence IS NOT NULL
    AND r.support IS NOT NULL AND s.id IS NOT NULL AND o.id IS NOT NULL
  OPTIONAL MATCH (s)-[:REFERS_TO]->(a)
  OPTIONAL MATCH (o)-[:REFERS_TO]->(b)
  RETURN collect({
    id: r.id, source_id: q.id,
    source: CASE WHEN a IS NULL THEN s.id WHEN coalesce(a.cluster, '') = '' THEN a.id ELSE a.cluster END, source_name: coalesce(s.name, ''),
    target: CASE WHEN b IS NULL THEN o.id WHEN coalesce(b.cluster, '') = '' THEN b.id ELSE b.cluster END, target_name: coalesce(o.name, ''),
    statement: r.statement, predicates: r.predicates, confidence: r.confidence, support: r.support,
    contradicts: coalesce(r.contradicts, []), source_entity: s.id, target_entity: o.id
  }) AS edges
}
RETURN q.id AS id, edges
ORDER BY id
