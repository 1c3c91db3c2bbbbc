// what: reads the texts of evidence
// parameters: namespace, ids
// returns: one row an evidence that is stored: id, text, source_id
UNWIND $ids AS id
MATCH (e:Evidence {id: id})
WHERE e.namespace = $namespace
RETURN e.id AS id, e.text AS text, e.source_id AS source_id
