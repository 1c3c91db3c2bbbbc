// what: erases answers
// parameters: namespace, answer_ids
// returns: nothing
UNWIND $answer_ids AS id
MATCH (a:Answer {id: id})
WHERE a.namespace = $namespace
DETACH DELETE a
