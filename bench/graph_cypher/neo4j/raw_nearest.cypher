// what: a new question the raw way: the nearest stored query by the vector index, and its subgraph with evidence, one statement
// parameters: namespace, vector, candidates
// returns: one row: id, cosine, evidence, triples
CALL db.index.vector.queryNodes('query_embedding', $candidates, $vector) YIELD node AS q, score
WHERE q.namespace = $namespace
WITH q, score
ORDER BY score DESC
LIMIT 1
RETURN q.id AS id, 2 * score - 1 AS cosine,
  COLLECT {
    MATCH (q)-[:HAS_EVIDENCE]->(e:Evidence)
    RETURN [e.id, e.text, e.score, e.rank]
  } AS evidence,
  COLLECT {
    MATCH (s)-[t:TRIPLE {namespace: $namespace, source_id: q.id}]->(o)
    USING INDEX SEEK t:TRIPLE(namespace, source_id)
    RETURN [t.id, t.predicate, t.confidence, t.evidence_id, t.rank, s.name, o.name]
  } AS triples
