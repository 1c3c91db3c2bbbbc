// what: reads the entities of a document
// parameters: source_id
// returns: one row an entity, in no order: its properties
MATCH (:Document {id: $source_id})-[:MENTIONS]->(n:Entity)
RETURN n.id AS id, n.name AS name, n.type AS type, n.variants AS variants
