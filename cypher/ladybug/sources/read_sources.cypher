// what: finds sources by their ids
// parameters: namespace, ids
// returns: one row a source that is stored: id, is_document, settings_hash, created_at, expires_at
UNWIND $ids AS id
MATCH (q:Query {id: id})
WHERE q.namespace = $namespace
RETURN q.id AS id, false AS is_document, q.settings_hash AS settings_hash, q.created_at AS created_at, q.expires_at AS expires_at
UNION ALL
UNWIND $ids AS id
MATCH (d:Document {id: id})
WHERE d.namespace = $namespace
RETURN d.id AS id, true AS is_document, d.settings_hash AS settings_hash, d.created_at AS created_at, d.expires_at AS expires_at
