// what: finds where the nodes of sources are. The engine finds a node of either label by its place at once, where a pattern of both
//     labels and an id would be a scan of both tables
// parameters: namespace, source_ids
// returns: one row a source that is stored: id, is_document, place (the parameters node_table and node_offset of other statements)
UNWIND $source_ids AS id
MATCH (q:Query {id: id})
WHERE q.namespace = $namespace
RETURN q.id AS id, false AS is_document, id(q) AS place
UNION ALL
UNWIND $source_ids AS id
MATCH (d:Document {id: id})
WHERE d.namespace = $namespace
RETURN d.id AS id, true AS is_document, id(d) AS place
