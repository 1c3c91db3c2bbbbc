// what: which of these answers are there already, in whatever namespace (an id is one node)
// parameters: answer_ids
// returns: one row an answer: id
UNWIND $answer_ids AS id
MATCH (a:Answer {id: id})
RETURN a.id AS id
