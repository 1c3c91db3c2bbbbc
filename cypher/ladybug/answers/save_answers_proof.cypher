// what: which of these answers (in whatever namespace: an id is one node), evidence and teacher calls are stored
// parameters: answer_ids, evidence_ids, call_ids
// returns: one row a node: id
UNWIND $answer_ids AS id
MATCH (n:Answer {id: id})
RETURN n.id AS id
UNION ALL
UNWIND $evidence_ids AS id
MATCH (n:Evidence {id: id})
RETURN n.id AS id
UNION ALL
UNWIND $call_ids AS id
MATCH (n:TeacherCall {id: id})
RETURN n.id AS id
