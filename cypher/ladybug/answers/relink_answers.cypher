// what: reads what the answers to a replaced query were shown, to link them to that evidence of it which is there again
// parameters: source_id
// returns: one row an answer: id, line_json
MATCH (q:Query|Document {id: $source_id})<-[:ANSWERS]-(a:Answer)
RETURN a.id AS id, a.line_json AS line_json
