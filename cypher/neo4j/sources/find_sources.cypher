// what: pages through those of the namespace's sources that all conditions hold of; an empty one holds of all. Ordered by all that
//     the index is of, a page reads no more than it passes over and returns. The prefix is no STARTS WITH: Neo4j 2026
//     would seek by that, and read all that is before the page
// parameters: namespace, after, until (bounds of the ids, both excluded), prefix, input_id, expired_before, has_failed, limit
// returns: one row a source: id, is_document, settings_hash, created_at, expires_at, title, date (of a query, the day
//     on which it was distilled); and of a document uri, sha256, input_id, tags
MATCH (s:Source)
USING INDEX SEEK s:Source(namespace, id)
WHERE s.namespace = $namespace AND s.id > $after AND s.id < $until AND left(s.id, size($prefix)) = $prefix
  AND ($input_id = '' OR s.input_id = $input_id)
  AND ($expired_before = '' OR (s.expires_at <> '' AND s.expires_at < $expired_before))
  AND (NOT $has_failed OR EXISTS {
    MATCH (s)<-[:ANSWERS]-(a)
    WHERE a.correct = false AND a.mode <> 'none' AND a.created_at >= s.created_at
  })
WITH s
ORDER BY s.namespace, s.id
LIMIT $limit
RETURN s.id AS id, s:Document AS is_document, s.settings_hash AS settings_hash, s.created_at AS created_at,
  s.expires_at AS expires_at,
  coalesce(s.uri, '') AS uri, coalesce(s.sha256, '') AS sha256,
  CASE WHEN s:Document THEN coalesce(s.input_id, '') ELSE '' END AS input_id, s.tags AS tags, coalesce(s.name, s.text) AS title,
  CASE WHEN s:Query THEN left(s.created_at, 10) ELSE coalesce(s.date, '') END AS date
