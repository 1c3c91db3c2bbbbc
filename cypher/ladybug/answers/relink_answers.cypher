// what: reads the answers to a source that is replaced, to link them again to it and to that evidence which is there again
// parameters: source_id
// returns: one row an answer: id, line_json
MATCH (q:Source {id: $source_id})<-[:ANSWERS]-(a:Answer)
RETURN a.id AS id, a.line_json AS line_json
