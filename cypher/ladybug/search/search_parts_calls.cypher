// what: reads which calls made evidence
// parameters: ids
// returns: one row an evidence and call: id, call_id
UNWIND $ids AS id
MATCH (e:Evidence {id: id})-[:GENERATED_BY]->(c:TeacherCall)
RETURN e.id AS id, c.id AS call_id
