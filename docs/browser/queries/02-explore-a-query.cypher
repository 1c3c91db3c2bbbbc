// 2 Explore a query: its evidence, entities and simple edges
// Parameters: namespace, query_id
MATCH (q:Query {id: $query_id})
WHERE q.namespace = $namespace
OPTIONAL MATCH has = (q)-[:HAS_EVIDENCE]->(e:Evidence WHERE e.kept)
WITH q, collect(has) AS evidence
OPTIONAL MATCH mentions = (q)-[:MENTIONS]->(:Entity)
WITH q, evidence, collect(mentions) AS entities
OPTIONAL MATCH related = ()-[:RELATED {namespace: $namespace, query_id: q.id}]->()
RETURN q, evidence, entities, collect(related) AS simple_edges
