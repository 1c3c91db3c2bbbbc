// what: reads an answer
// parameters: namespace, answer_id
// returns: at most one row: the properties as one map
MATCH (a:Answer {id: $answer_id})
USING INDEX SEEK a:Answer(id)
WHERE a.namespace = $namespace
RETURN properties(a) AS properties
