// what: reads when each source of the namespace was stored
// parameters: namespace
// returns: one row: sources (a list of [id, created_at])
MATCH (s:Source)
USING INDEX SEEK s:Source(namespace, id)
WHERE s.namespace = $namespace AND s.id IS NOT NULL
RETURN collect([s.id, s.created_at]) AS sources
