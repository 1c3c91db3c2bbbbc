// what: finds evidence that no stored teacher call made
// parameters: namespace
// returns: one row an evidence: id
MATCH (e:Evidence)
USING INDEX SEEK e:Evidence(namespace, source_id)
WHERE e.namespace = $namespace AND e.source_id IS NOT NULL AND NOT EXISTS { (e)-[:GENERATED_BY]->(:TeacherCall) }
RETURN e.id AS id
