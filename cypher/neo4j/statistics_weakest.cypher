// what: finds the simple edges of the lowest confidence
// parameters: namespace, limit
// returns: one row an edge, lowest first: id, source_id, statement, confidence, support
MATCH (:Entity)-[r:RELATED]->(:Entity)
USING INDEX SEEK r:RELATED(namespace, source_id)
WHERE r.namespace = $namespace
  AND r.id IS NOT NULL AND r.source_id IS NOT NULL AND r.confidence IS NOT NULL AND r.statement IS NOT NULL AND r.support IS NOT NULL
RETURN r.id AS id, r.source_id AS source_id, r.statement AS statement, r.confidence AS confidence, r.support AS support
ORDER BY confidence, id
LIMIT $limit
