// what: which of this evidence is stored, for answers that rest on it
// parameters: ids
// returns: one row an evidence: id
UNWIND $ids AS id
MATCH (n:Evidence {id: id})
RETURN n.id AS id
