// what: takes away all simple edges of a namespace, in transactions of 100 queries; auto-commit only
// parameters: namespace
// returns: nothing
MATCH (q:Query)
USING INDEX q:Query(namespace, id)
WHERE q.namespace = $namespace AND q.id IS NOT NULL
CALL (q) {
  MATCH ()-[r:RELATED {namespace: $namespace, source_id: q.id}]->()
  USING INDEX SEEK r:RELATED(namespace, source_id)
  DELETE r
} IN TRANSACTIONS OF 100 ROWS
