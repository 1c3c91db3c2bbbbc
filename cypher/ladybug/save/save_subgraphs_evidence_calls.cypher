// what: links evidence to the other teacher calls that made it
// parameters: rows (evidence_id and id of the call)
// returns: nothing
UNWIND $rows AS r
MATCH (e:Evidence {id: r.evidence_id})
MATCH (c:TeacherCall {id: r.id})
CREATE (e)-[:GENERATED_BY {namespace: r.namespace}]->(c)
