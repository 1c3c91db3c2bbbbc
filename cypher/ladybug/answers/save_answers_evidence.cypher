// what: links answers to those of the evidence they were shown that are stored
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (a:Answer {id: r.answer_id})
MATCH (e:Evidence {id: r.id})
WHERE e.namespace = r.namespace
CREATE (a)-[:USED {namespace: r.namespace}]->(e)
