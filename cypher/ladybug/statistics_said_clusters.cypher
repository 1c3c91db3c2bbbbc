// what: finds the ordered pairs of things of which more than one predicate is said, those that begin at clusters of concepts
// parameters: ids (of all concepts of these clusters)
// returns: one row a pair: source, target, predicates, triple_ids (of each of them, a list)
UNWIND $ids AS concept_id
MATCH (c:Concept {id: concept_id})<-[:REFERS_TO]-(:Entity)-[t:TRIPLE]->(o:Entity)
WHERE t.id IS NOT NULL AND t.predicate IS NOT NULL
OPTIONAL MATCH (o)-[:REFERS_TO]->(b:Concept)
WITH
  c.cluster AS source,
  CASE WHEN b.id IS NULL THEN o.id WHEN b.cluster IS NULL OR b.cluster = '' THEN b.id ELSE b.cluster END AS target,
  t.predicate AS predicate, t.id AS id
WITH source, target, predicate, collect(id) AS ids
WITH source, target, collect(predicate) AS predicates, collect(ids) AS triple_ids
WHERE size(predicates) > 1
RETURN source, target, predicates, triple_ids
