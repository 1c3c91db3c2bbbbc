// what: finds evidence that no stored teacher call made
// parameters: namespace
// returns: one row an evidence: id
MATCH (e:Evidence)
WHERE e.namespace = $namespace AND NOT EXISTS { MATCH (e)-[:GENERATED_BY]->(:TeacherCall) }
RETURN e.id AS id
