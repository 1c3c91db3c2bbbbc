// what: unlinks the evidence of a namespace from the teacher calls that made it
// parameters: namespace
// returns: nothing
MATCH (e:Evidence)-[g:GENERATED_BY]->(:TeacherCall)
WHERE e.namespace = $namespace
DELETE g
