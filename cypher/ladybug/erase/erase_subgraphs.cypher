// what: erases the evidence, entities and chunks of a source, and so all triples and simple edges
// parameters: node_table, node_offset (the place of the source)
// returns: one row a label: label, number (how many went)
MATCH (q:Query|Document)-[:HAS_EVIDENCE|MENTIONS|HAS_CHUNK]->(n)
WHERE id(q) = internal_id($node_table, $node_offset)
DETACH DELETE n
RETURN label(n) AS label, count(*) AS number
