// what: counts the evidence that was kept, but that no simple edge rests on and no answer was shown
// parameters: namespace
// returns: one row: number
MATCH (q:Query)
USING INDEX SEEK q:Query(namespace, id)
WHERE q.namespace = $namespace AND q.id IS NOT NULL
CALL (q) {
  MATCH ()-[r:RELATED {namespace: $namespace, source_id: q.id}]->()
  USING INDEX SEEK r:RELATED(namespace, source_id)
  RETURN reduce(ids = [], part IN collect(r.evidence_ids) | ids + part) AS rested
}
MATCH (q)-[:HAS_EVIDENCE]->(e)
WHERE e.kept AND NOT e.id IN rested AND NOT EXISTS { (e)<-[:USED]-() }
RETURN count(e) AS number
