// what: links evidence to the teacher calls that made it
// parameters: namespace, rows (evidence_id and id of the call)
// returns: nothing
UNWIND $rows AS r
MATCH (e:Evidence {id: r.evidence_id})
MATCH (c:TeacherCall {id: r.id})
CREATE (e)-[:GENERATED_BY {namespace: $namespace}]->(c)
