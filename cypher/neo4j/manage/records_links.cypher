// what: the relationships from the parts of queries to nodes that no query owns
// parameters: namespace, source_ids
// returns: one row a relationship: type, source, target (ids), properties
UNWIND $source_ids AS id
MATCH (q:Source {id: id})
USING INDEX SEEK q:Source(id)
WHERE q.namespace = $namespace
MATCH (q)-[:MENTIONS]->(a)-[r:REFERS_TO]->(b)
RETURN type(r) AS type, a.id AS source, b.id AS target, properties(r) AS properties
