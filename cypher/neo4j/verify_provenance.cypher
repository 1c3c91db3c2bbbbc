// what: finds evidence that neither a stored teacher call made nor a chunk holds
// parameters: namespace
// returns: one row an evidence: id
MATCH (e:Evidence)
USING INDEX SEEK e:Evidence(namespace, source_id)
WHERE e.namespace = $namespace AND e.source_id IS NOT NULL AND NOT EXISTS { (e)-[:GENERATED_BY|FROM_CHUNK]->(:TeacherCall|Chunk) }
RETURN e.id AS id
