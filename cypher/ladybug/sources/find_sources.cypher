// what: pages through those of the namespace's sources that all conditions hold of; an empty one holds of all
// parameters: namespace, after, until (bounds of the ids, both excluded), prefix, input_id, expired_before, has_failed, limit
// returns: one row a source, by id: id, is_document, settings_hash, created_at, expires_at, title, date (of a query, the day
//     on which it was distilled); and of a document uri, sha256, input_id, tags
MATCH (s:Source)
WHERE s.namespace = $namespace AND s.id > $after AND s.id < $until AND s.id STARTS WITH $prefix
  AND ($input_id = '' OR s.input_id = $input_id)
  AND ($expired_before = '' OR (s.expires_at <> '' AND s.expires_at < $expired_before))
  AND (NOT $has_failed OR EXISTS {
    MATCH (a:Answer)-[:ANSWERS]->(s)
    WHERE a.correct = false AND a.mode <> 'none' AND a.created_at >= s.created_at
  })
RETURN s.id AS id, s.kind = 'document' AS is_document, s.settings_hash AS settings_hash, s.created_at AS created_at,
  s.expires_at AS expires_at,
  coalesce(s.uri, '') AS uri, coalesce(s.sha256, '') AS sha256,
  CASE WHEN s.kind = 'document' THEN coalesce(s.input_id, '') ELSE '' END AS input_id, s.tags AS tags,
  CASE WHEN s.kind = 'document' THEN s.name ELSE s.text END AS title,
  CASE WHEN s.kind = 'document' THEN coalesce(s.date, '') ELSE s.created_at[1:10] END AS date
ORDER BY id
LIMIT $limit
