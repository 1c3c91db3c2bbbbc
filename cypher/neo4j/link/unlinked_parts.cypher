// what: finds the entities of sources that refer to no concept, and their kept evidence that has no vector
// parameters: namespace, ids
// returns: one row each: source_id, kind ('entity' or 'evidence'), id, text
UNWIND $ids AS source_id
MATCH (e:Entity)
USING INDEX SEEK e:Entity(namespace, source_id)
WHERE e.namespace = $namespace AND e.source_id = source_id AND NOT EXISTS { (e)-[:REFERS_TO]->() }
RETURN source_id, 'entity' AS kind, e.id AS id, e.name AS text
UNION ALL
UNWIND $ids AS source_id
MATCH (v:Evidence)
USING INDEX SEEK v:Evidence(namespace, source_id)
WHERE v.namespace = $namespace AND v.source_id = source_id AND v.kept AND v.embedding IS NULL
RETURN source_id, 'evidence' AS kind, v.id AS id, v.text AS text
