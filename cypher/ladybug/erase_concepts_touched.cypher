// what: finds the concepts that entities of a query refer to
// parameters: namespace, query_id
// returns: one row a concept: id
MATCH (q:Query {id: $query_id})-[:MENTIONS]->(:Entity)-[:REFERS_TO]->(c:Concept)
WHERE q.namespace = $namespace
RETURN DISTINCT c.id AS id
