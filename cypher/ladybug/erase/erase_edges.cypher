// what: erases the simple edges of a source, for an aggregation that makes them anew
// parameters: node_table, node_offset (the place of the source)
// returns: nothing
MATCH (q:Query|Document)-[:MENTIONS]->(:Entity)-[r:RELATED]->(:Entity)
WHERE id(q) = internal_id($node_table, $node_offset)
DELETE r
