// what: finds the ordered pairs of things of which more than one predicate is said
// parameters: namespace
// returns: one row a pair: source, target, predicates, triple_ids (of each of them, a list)
MATCH (s:Entity)-[t:TRIPLE]->(o:Entity)
WHERE t.namespace = $namespace AND t.id IS NOT NULL AND t.predicate IS NOT NULL
OPTIONAL MATCH (s)-[:REFERS_TO]->(a:Concept)
OPTIONAL MATCH (o)-[:REFERS_TO]->(b:Concept)
WITH
  CASE WHEN a.id IS NULL THEN s.id WHEN a.cluster IS NULL OR a.cluster = '' THEN a.id ELSE a.cluster END AS source,
  CASE WHEN b.id IS NULL THEN o.id WHEN b.cluster IS NULL OR b.cluster = '' THEN b.id ELSE b.cluster END AS target,
  t.predicate AS predicate, t.id AS id
WITH source, target, predicate, collect(id) AS ids
WITH source, target, collect(predicate) AS predicates, collect(ids) AS triple_ids
WHERE size(predicates) > 1
RETURN source, target, predicates, triple_ids
