// what: finds queries that are marked complete but have triples without any evidence
// parameters: namespace
// returns: one row a query: id
MATCH (q:Query)
USING INDEX SEEK q:Query(namespace, id)
WHERE q.namespace = $namespace AND q.id IS NOT NULL AND NOT EXISTS { (q)-[:HAS_EVIDENCE]->() }
  AND EXISTS { (q)-[:MENTIONS]->()-[:TRIPLE]-() }
RETURN q.id AS id
