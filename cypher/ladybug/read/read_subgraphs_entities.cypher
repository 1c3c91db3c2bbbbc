// what: reads the entities of a source
// parameters: node_table, node_offset (the place of the source)
// returns: one row an entity, in no order: its properties
MATCH (q:Query|Document)-[:MENTIONS]->(n:Entity)
WHERE id(q) = internal_id($node_table, $node_offset)
RETURN n.id AS id, n.name AS name, n.type AS type, n.variants AS variants
