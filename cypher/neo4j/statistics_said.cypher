// what: finds the ordered pairs of things of which more than one predicate is said, those that begin at an entity that no cluster
//     has: all that is said of such a pair is in one query
// parameters: namespace, after, limit
// returns: one row a query of a page, by id: id, pairs (lists: source, target, lists of a predicate and the ids of its triples)
MATCH (q:Query)
USING INDEX SEEK q:Query(namespace, id)
WHERE q.namespace = $namespace AND q.id > $after
WITH q
ORDER BY q.namespace, q.id
LIMIT $limit
CALL (q) {
  MATCH (s)-[t:TRIPLE {namespace: $namespace, source_id: q.id}]->(o)
  USING INDEX SEEK t:TRIPLE(namespace, source_id)
  WHERE t.id IS NOT NULL AND t.predicate IS NOT NULL AND s.id IS NOT NULL AND o.id IS NOT NULL
  OPTIONAL MATCH (s)-[:REFERS_TO]->(a)
  WITH s, t, o, a
  WHERE coalesce(a.cluster, '') = ''
  OPTIONAL MATCH (o)-[:REFERS_TO]->(b)
  WITH coalesce(a.id, s.id) AS source, t,
    CASE WHEN b IS NULL THEN o.id WHEN coalesce(b.cluster, '') = '' THEN b.id ELSE b.cluster END AS target
  WITH source, target, t.predicate AS predicate, collect(t.id) AS ids
  WITH source, target, collect([predicate, ids]) AS said
  WHERE size(said) > 1
  RETURN collect([source, target, said]) AS pairs
}
RETURN q.id AS id, pairs
ORDER BY id
