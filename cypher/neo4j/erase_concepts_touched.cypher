// what: finds the concepts that entities of a query refer to
// parameters: namespace, query_id
// returns: one row a concept: id
MATCH (e:Entity {namespace: $namespace, query_id: $query_id})-[:REFERS_TO]->(c:Concept)
USING INDEX SEEK e:Entity(namespace, query_id)
RETURN DISTINCT c.id AS id
