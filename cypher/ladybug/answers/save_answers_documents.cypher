// what: links answers to those of the documents that they rest on that are stored
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (a:Answer {id: r.answer_id})
MATCH (d:Document {id: r.id})
WHERE d.namespace = r.namespace
CREATE (a)-[:ANSWERS {namespace: r.namespace}]->(d)
