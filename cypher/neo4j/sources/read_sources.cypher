// what: finds sources by their ids
// parameters: namespace, ids
// returns: one row a source that is stored: id, is_document, settings_hash, created_at, expires_at, title, date (of a query, the day
//     on which it was distilled); and of a document uri, sha256, input_id, tags
UNWIND $ids AS id
MATCH (s:Source {id: id})
USING INDEX SEEK s:Source(id)
WHERE s.namespace = $namespace
RETURN s.id AS id, s:Document AS is_document, s.settings_hash AS settings_hash, s.created_at AS created_at,
  s.expires_at AS expires_at,
  coalesce(s.uri, '') AS uri, coalesce(s.sha256, '') AS sha256,
  CASE WHEN s:Document THEN coalesce(s.input_id, '') ELSE '' END AS input_id, s.tags AS tags, coalesce(s.name, s.text) AS title,
  CASE WHEN s:Query THEN left(s.created_at, 10) ELSE coalesce(s.date, '') END AS date
