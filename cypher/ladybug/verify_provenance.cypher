// what: finds evidence that neither a stored teacher call made nor a chunk holds
// parameters: namespace
// returns: one row an evidence: id
MATCH (e:Evidence)
WHERE e.namespace = $namespace AND NOT EXISTS { MATCH (e)-[:GENERATED_BY]->(:TeacherCall) }
  AND NOT EXISTS { MATCH (e)-[:FROM_CHUNK]->(:Chunk) }
RETURN e.id AS id
