// what: counts what hangs on a query
// parameters: source_id
// returns: one row: evidence, triples, edges
MATCH (q:Query {id: $source_id})
RETURN
  COUNT { MATCH (q)-[:HAS_EVIDENCE]->(:Evidence) } AS evidence,
  COUNT { MATCH (q)-[:MENTIONS]->(:Entity)-[:TRIPLE]->(:Entity) } AS triples,
  COUNT { MATCH (q)-[:MENTIONS]->(:Entity)-[:RELATED]->(:Entity) } AS edges
