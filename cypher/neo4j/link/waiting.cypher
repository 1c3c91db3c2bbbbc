// what: finds sources that are new or changed since they were linked, and one concept that waits to be judged
// parameters: namespace, limit
// returns: at most limit rows of sources and one of a concept: kind ('source' or 'concept'), id
MATCH (s:Source)
USING INDEX SEEK s:Source(namespace, linked)
WHERE s.namespace = $namespace AND s.linked = false
RETURN 'source' AS kind, s.id AS id
LIMIT $limit
UNION ALL
MATCH (c:Concept)
USING INDEX SEEK c:Concept(namespace, cluster)
WHERE c.namespace = $namespace AND c.cluster = ''
RETURN 'concept' AS kind, c.id AS id
LIMIT 1
