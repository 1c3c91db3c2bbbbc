// what: reads which calls made an evidence (after an UNWIND of ids, the engine reads all relationships of the store)
// parameters: evidence_id
// returns: one row a call: id (of the evidence), call_id
MATCH (e:Evidence {id: $evidence_id})-[:GENERATED_BY]->(c:TeacherCall)
RETURN e.id AS id, c.id AS call_id
