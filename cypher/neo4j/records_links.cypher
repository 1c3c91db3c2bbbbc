// what: the relationships from the parts of queries to nodes that no query owns
// parameters: namespace, source_ids
// returns: one row a relationship: type, source, target (ids), properties
UNWIND $source_ids AS id
MATCH (q:Query {id: id})
USING INDEX SEEK q:Query(id)
WHERE q.namespace = $namespace
CALL (q) {
  MATCH (q)-[:MENTIONS]->(a)-[r:REFERS_TO]->(b)
  RETURN r, a.id AS source, b.id AS target
  UNION ALL
  MATCH (q)-[:HAS_EVIDENCE]->(a)-[r:FROM_CHUNK]->(b)
  RETURN r, a.id AS source, b.id AS target
}
RETURN type(r) AS type, source, target, properties(r) AS properties
