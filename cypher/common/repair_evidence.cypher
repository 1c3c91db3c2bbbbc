// what: removes evidence that no stored teacher call made
// parameters: namespace, ids
// returns: nothing
UNWIND $ids AS id
MATCH (n:Evidence {id: id})
WHERE n.namespace = $namespace AND NOT EXISTS { MATCH (n)-[:GENERATED_BY]->(:TeacherCall) }
DETACH DELETE n
