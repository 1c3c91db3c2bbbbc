// what: reads the simple edges of a page of queries between things: an entity's cluster, else its concept, else the entity itself
// parameters: namespace, after, limit
// returns: one row a query, by id: id, edges (lists: source, target, confidence)
MATCH (q:Query)
USING INDEX SEEK q:Query(namespace, id)
WHERE q.namespace = $namespace AND q.id > $after
WITH q
ORDER BY q.namespace, q.id
LIMIT $limit
CALL (q) {
  MATCH (s)-[r:RELATED {namespace: $namespace, source_id: q.id}]->(o)
  USING INDEX SEEK r:RELATED(namespace, source_id)
  WHERE r.confidence IS NOT NULL AND s.id IS NOT NULL AND o.id IS NOT NULL
  OPTIONAL MATCH (s)-[:REFERS_TO]->(a)
  OPTIONAL MATCH (o)-[:REFERS_TO]->(b)
  RETURN collect([
    CASE WHEN a IS NULL THEN s.id WHEN coalesce(a.cluster, '') = '' THEN a.id ELSE a.cluster END,
    CASE WHEN b IS NULL THEN o.id WHEN coalesce(b.cluster, '') = '' THEN b.id ELSE b.cluster END,
    r.confidence
  ]) AS edges
}
RETURN q.id AS id, edges
ORDER BY id
