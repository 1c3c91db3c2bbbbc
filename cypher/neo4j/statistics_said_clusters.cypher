// what: finds the ordered pairs of things of which more than one predicate is said, those that begin at a cluster of concepts
// parameters: namespace, after, limit
// returns: one row a cluster of a page, by id: id, pairs (lists: source, target, lists of a predicate and the ids of its triples)
MATCH (c:Concept)
USING INDEX SEEK c:Concept(namespace, cluster)
WHERE c.namespace = $namespace AND c.cluster > $after
WITH DISTINCT c.namespace AS namespace, c.cluster AS source
ORDER BY namespace, source
LIMIT $limit
CALL (source) {
  MATCH (c:Concept {namespace: $namespace, cluster: source})<-[:REFERS_TO]-(s:Entity)-[t:TRIPLE]->(o:Entity)
  USING INDEX SEEK c:Concept(namespace, cluster)
  WHERE t.id IS NOT NULL AND t.predicate IS NOT NULL AND o.id IS NOT NULL
  OPTIONAL MATCH (o)-[:REFERS_TO]->(b:Concept)
  WITH t,
    CASE WHEN b IS NULL THEN o.id WHEN coalesce(b.cluster, '') = '' THEN b.id ELSE b.cluster END AS target
  WITH target, t.predicate AS predicate, collect(t.id) AS ids
  WITH target, collect([predicate, ids]) AS said
  WHERE size(said) > 1
  RETURN collect([source, target, said]) AS pairs
}
RETURN source AS id, pairs
ORDER BY id
