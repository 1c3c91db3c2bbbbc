// what: under which settings these queries are complete
// parameters: namespace, source_ids
// returns: one row a query that is stored and complete: id, settings_hash, is_document
UNWIND $source_ids AS id
MATCH (q:Source {id: id})
USING INDEX SEEK q:Source(id)
WHERE q.namespace = $namespace AND q.status = 'complete'
RETURN q.id AS id, q.settings_hash AS settings_hash, q:Document AS is_document
