// what: finds queries that have triples without any evidence
// parameters: namespace
// returns: one row a query: id
MATCH (q:Query)
WHERE q.namespace = $namespace AND NOT EXISTS { MATCH (q)-[:HAS_EVIDENCE]->(:Evidence) }
  AND EXISTS { MATCH (q)-[:MENTIONS]->(:Entity)-[:TRIPLE]->(:Entity) }
RETURN q.id AS id
