// what: which of these teacher calls are stored, for answers that rest on it
// parameters: ids
// returns: one row a call: id
UNWIND $ids AS id
MATCH (n:TeacherCall {id: id})
RETURN n.id AS id
