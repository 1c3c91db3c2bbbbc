// what: pages through the sources of the namespace for what their entities refer to
// parameters: namespace, after, limit
// returns: one row a source: id, links (maps: type, source, target)
MATCH (s:Source)
USING INDEX SEEK s:Source(namespace, id)
WHERE s.namespace = $namespace AND s.id > $after
WITH s
ORDER BY s.namespace, s.id
LIMIT $limit
RETURN s.id AS id, [(s)-[:MENTIONS]->(a)-[r:REFERS_TO]->(b) | {type: type(r), source: a.id, target: b.id}] AS links
