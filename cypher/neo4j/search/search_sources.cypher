// what: reads what decides whether a source may be searched. A query has the day of its distillation and no tags
// parameters: namespace
// returns: one row: sources (a list of [id, name or question, date, tags])
MATCH (s:Source)
USING INDEX SEEK s:Source(namespace, id)
WHERE s.namespace = $namespace AND s.id IS NOT NULL
RETURN collect([
  s.id, coalesce(s.name, s.text), CASE WHEN s:Query THEN left(s.created_at, 10) ELSE coalesce(s.date, '') END, coalesce(s.tags, [])
]) AS sources
