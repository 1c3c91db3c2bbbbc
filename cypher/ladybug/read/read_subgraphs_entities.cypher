// what: reads the entities of a source
// parameters: namespace, source_id
// returns: one row an entity, in no order: its properties
MATCH (q:Source {id: $source_id})-[:MENTIONS]->(n:Entity)
WHERE q.namespace = $namespace
RETURN n.id AS id, n.name AS name, n.type AS type, n.variants AS variants
