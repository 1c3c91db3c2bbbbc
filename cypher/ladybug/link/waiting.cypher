// what: finds sources that are new or changed since they were linked, and one concept that waits to be judged
// parameters: namespace, limit
// returns: at most limit rows of sources and one of a concept: kind ('source' or 'concept'), id
MATCH (s:Source)
WHERE s.namespace = $namespace AND (s.linked IS NULL OR NOT s.linked)
RETURN 'source' AS kind, s.id AS id
LIMIT $limit
UNION ALL
MATCH (c:Concept)
WHERE c.namespace = $namespace AND c.cluster = ''
RETURN 'concept' AS kind, c.id AS id
LIMIT 1
