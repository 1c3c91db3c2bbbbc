// what: finds the ordered pairs of things of which more than one predicate is said, those that begin at an entity that no cluster
//     has: all that is said of such a pair is in one query
// parameters: ids (of queries)
// returns: one row a pair: source, target, predicates, triple_ids (of each of them, a list)
UNWIND $ids AS source_id
MATCH (q:Query {id: source_id})-[:MENTIONS]->(s:Entity)-[t:TRIPLE]->(o:Entity)
WHERE t.id IS NOT NULL AND t.predicate IS NOT NULL
OPTIONAL MATCH (s)-[:REFERS_TO]->(a:Concept)
OPTIONAL MATCH (o)-[:REFERS_TO]->(b:Concept)
WITH
  a.cluster AS cluster,
  CASE WHEN a.id IS NULL THEN s.id ELSE a.id END AS source,
  CASE WHEN b.id IS NULL THEN o.id WHEN b.cluster IS NULL OR b.cluster = '' THEN b.id ELSE b.cluster END AS target,
  t.predicate AS predicate, t.id AS id
WHERE cluster IS NULL OR cluster = ''
WITH source, target, predicate, collect(id) AS ids
WITH source, target, collect(predicate) AS predicates, collect(ids) AS triple_ids
WHERE size(predicates) > 1
RETURN source, target, predicates, triple_ids
