// what: under which settings these queries are complete
// parameters: namespace, query_ids
// returns: one row a query that is stored and complete: id, settings_hash
UNWIND $query_ids AS id
MATCH (q:Query {id: id})
USING INDEX SEEK q:Query(id)
WHERE q.namespace = $namespace AND q.status = 'complete'
RETURN q.id AS id, q.settings_hash AS settings_hash
