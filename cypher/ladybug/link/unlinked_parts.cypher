// what: finds the entities of sources that refer to no concept, and their kept evidence that has no vector
// parameters: namespace, ids
// returns: one row each: source_id, kind ('entity' or 'evidence'), id, text
UNWIND $ids AS source_id
MATCH (s:Source {id: source_id})-[:MENTIONS]->(e:Entity)
WHERE s.namespace = $namespace
OPTIONAL MATCH (e)-[:REFERS_TO]->(c:Concept)
WITH source_id, e, c
WHERE c.id IS NULL
RETURN source_id, 'entity' AS kind, e.id AS id, e.name AS text
UNION ALL
UNWIND $ids AS source_id
MATCH (s:Source {id: source_id})-[:HAS_EVIDENCE]->(v:Evidence)
WHERE s.namespace = $namespace AND v.kept AND v.embedding IS NULL
RETURN source_id, 'evidence' AS kind, v.id AS id, v.text AS text
