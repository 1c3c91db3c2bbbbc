// what: erases the triples of a source
// parameters: node_table, node_offset (the place of the source)
// returns: one row: label, number (how many went)
MATCH (q:Query|Document)-[:MENTIONS]->(:Entity)-[t:TRIPLE]->(:Entity)
WHERE id(q) = internal_id($node_table, $node_offset)
DELETE t
RETURN 'TRIPLE' AS label, count(*) AS number
