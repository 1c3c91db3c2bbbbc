// what: under which settings these sources are complete
// parameters: namespace, source_ids
// returns: one row a source that is stored and complete: id, settings_hash, kind (query or document)
UNWIND $source_ids AS id
MATCH (q:Query {id: id})
WHERE q.namespace = $namespace AND q.status = 'complete'
RETURN q.id AS id, q.settings_hash AS settings_hash, 'query' AS kind
UNION ALL
UNWIND $source_ids AS id
MATCH (d:Document {id: id})
WHERE d.namespace = $namespace AND d.status = 'complete'
RETURN d.id AS id, d.settings_hash AS settings_hash, 'document' AS kind
