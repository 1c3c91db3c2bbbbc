// what: reads what a search shows of sources, and what it restricts them by
// parameters: namespace, ids
// returns: one row a source: id, is_document, title, date (of a query, the day on which it was distilled), tags
UNWIND $ids AS id
MATCH (q:Source {id: id})
WHERE q.namespace = $namespace
RETURN q.id AS id, q.kind = 'document' AS is_document, CASE WHEN q.kind = 'document' THEN q.name ELSE q.text END AS title,
  CASE WHEN q.kind = 'document' THEN coalesce(q.date, '') ELSE q.created_at[1:10] END AS date,
  coalesce(q.tags, CAST([] AS STRING[])) AS tags
