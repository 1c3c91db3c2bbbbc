// what: reads which calls made the evidence of a source (OPTIONAL MATCH in the statement that reads this takes as long again)
// parameters: node_table, node_offset (the place of the source)
// returns: one row an evidence and call: id, call_id
MATCH (q:Query|Document)-[:HAS_EVIDENCE]->(e:Evidence)-[:GENERATED_BY]->(c:TeacherCall)
WHERE id(q) = internal_id($node_table, $node_offset)
RETURN e.id AS id, c.id AS call_id
