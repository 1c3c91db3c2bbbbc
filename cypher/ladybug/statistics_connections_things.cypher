// what: what the entities of a query are: their cluster, else their concept, else themselves
// parameters: query_id
// returns: one row an entity: id, thing
MATCH (q:Query {id: $query_id})-[:MENTIONS]->(n:Entity)
OPTIONAL MATCH (n)-[:REFERS_TO]->(c:Concept)
RETURN n.id AS id, CASE WHEN c.id IS NULL THEN n.id WHEN c.cluster IS NULL OR c.cluster = '' THEN c.id ELSE c.cluster END AS thing
