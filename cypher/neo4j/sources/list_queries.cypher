// what: lists the queries of the namespace with the sizes of their subgraphs
// parameters: namespace, limit, offset
// returns: one row a query, the newest first: the fields of drag_graph.ports.store.QuerySummary
MATCH (q:Query)
WHERE q.namespace = $namespace AND q.id IS NOT NULL
WITH q
ORDER BY q.created_at DESC, q.id
SKIP $offset
LIMIT $limit
RETURN q.id AS id, q.text AS text, q.options AS options, q.domain AS domain, q.graph AS graph, q.status AS status,
  q.settings_hash AS settings_hash,
  COUNT { (q)-[:HAS_EVIDENCE]->() } AS evidence,
  COUNT {
    MATCH ()-[t:TRIPLE {namespace: $namespace, source_id: q.id}]->()
    USING INDEX SEEK t:TRIPLE(namespace, source_id)
  } AS triples,
  COUNT {
    MATCH ()-[r:RELATED {namespace: $namespace, source_id: q.id}]->()
    USING INDEX SEEK r:RELATED(namespace, source_id)
  } AS edges,
  q.created_at AS created_at
ORDER BY created_at DESC, id
