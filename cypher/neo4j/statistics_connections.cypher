// what: what connects things in each query of a page: a thing is an entity's cluster, else its concept, else the entity itself
// parameters: namespace, after, limit
// returns: one row a query, by id: id, triples (lists: source, target, predicate, id), edges (lists: source, target, confidence),
//     unused (lists: id and text of kept evidence that no edge rests on and no answer was shown)
MATCH (q:Query)
WHERE q.namespace = $namespace AND q.id > $after
WITH q
ORDER BY q.id
LIMIT $limit
CALL (q) {
  MATCH (n:Entity {namespace: $namespace, query_id: q.id})
  USING INDEX SEEK n:Entity(namespace, query_id)
  OPTIONAL MATCH (n)-[:REFERS_TO]->(c:Concept)
  WITH n, CASE WHEN c IS NULL THEN n.id WHEN coalesce(c.cluster, '') = '' THEN c.id ELSE c.cluster END AS thing
  RETURN collect({id: n.id, thing: thing}) AS things
}
CALL (q, things) {
  MATCH (s)-[t:TRIPLE {namespace: $namespace, query_id: q.id}]->(o)
  USING INDEX SEEK t:TRIPLE(namespace, query_id)
  RETURN collect([[x IN things WHERE x.id = s.id | x.thing][0], [x IN things WHERE x.id = o.id | x.thing][0], t.predicate, t.id])
    AS triples
}
CALL (q, things) {
  MATCH (s)-[r:RELATED {namespace: $namespace, query_id: q.id}]->(o)
  USING INDEX SEEK r:RELATED(namespace, query_id)
  RETURN collect([[x IN things WHERE x.id = s.id | x.thing][0], [x IN things WHERE x.id = o.id | x.thing][0], r.confidence])
    AS edges, reduce(ids = [], part IN collect(r.evidence_ids) | ids + part) AS rested
}
CALL (q, rested) {
  MATCH (q)-[:HAS_EVIDENCE]->(e:Evidence)
  WHERE e.kept AND NOT e.id IN rested AND NOT EXISTS { (e)<-[:USED]-() }
  RETURN collect([e.id, e.text]) AS unused
}
RETURN q.id AS id, triples, edges, unused
ORDER BY id
