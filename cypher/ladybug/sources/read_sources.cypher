// what: finds sources by their ids
// parameters: namespace, ids
// returns: one row a source that is stored: id, is_document, settings_hash, created_at, expires_at, title, date (of a query, the day
//     on which it was distilled); and of a document uri, sha256, input_id, tags
UNWIND $ids AS id
MATCH (q:Source {id: id})
WHERE q.namespace = $namespace
RETURN q.id AS id, q.kind = 'document' AS is_document, q.settings_hash AS settings_hash, q.created_at AS created_at, q.expires_at AS expires_at,
  coalesce(q.uri, '') AS uri, coalesce(q.sha256, '') AS sha256,
  CASE WHEN q.kind = 'document' THEN coalesce(q.input_id, '') ELSE '' END AS input_id, q.tags AS tags,
  CASE WHEN q.kind = 'document' THEN q.name ELSE q.text END AS title,
  CASE WHEN q.kind = 'document' THEN coalesce(q.date, '') ELSE q.created_at[1:10] END AS date
