// what: finds evidence that was kept, but that no simple edge rests on and no answer was shown
// parameters: namespace, limit
// returns: one row an evidence, by query and id: id, source_id, text
MATCH (q:Query)
USING INDEX SEEK q:Query(namespace, id)
WHERE q.namespace = $namespace AND q.id IS NOT NULL
WITH q
ORDER BY q.namespace, q.id
CALL (q) {
  MATCH ()-[r:RELATED {namespace: $namespace, source_id: q.id}]->()
  USING INDEX SEEK r:RELATED(namespace, source_id)
  RETURN reduce(ids = [], part IN collect(r.evidence_ids) | ids + part) AS rested
}
MATCH (q)-[:HAS_EVIDENCE]->(e)
WHERE e.kept AND NOT e.id IN rested AND NOT EXISTS { (e)<-[:USED]-() }
WITH q, e
ORDER BY q.namespace, q.id, e.id
LIMIT $limit
RETURN e.id AS id, q.id AS source_id, coalesce(e.text, '') AS text
