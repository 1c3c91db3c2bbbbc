// 02 Explore a query
// The evidence that was kept, and the graph made of it. Every entity hangs on the query by MENTIONS, which is left out for a clear
// picture; click an entity and expand it to see that, and the triples behind the simple edges.
// Parameters: namespace, source_id
MATCH (q:Query {id: $source_id})
WHERE q.namespace = $namespace
OPTIONAL MATCH has = (q)-[:HAS_EVIDENCE]->(e:Evidence WHERE e.kept)
WITH q, has, e
ORDER BY e.rank
WITH q, collect(has) AS evidence
OPTIONAL MATCH (q)-[:MENTIONS]->(n:Entity)
WITH q, evidence, collect(n) AS entities
OPTIONAL MATCH related = ()-[r:RELATED {namespace: $namespace, source_id: q.id}]->()
WITH q, evidence, entities, related, r
ORDER BY r.rank
RETURN collect(related) AS simple_edges, entities, q AS query, evidence
