// what: links answers to those of the evidence they were shown that are stored
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (a:Answer {id: r.answer_id})
MATCH (e:Evidence {id: r.id})
WHERE e.namespace = $namespace
CREATE (a)-[:USED {namespace: $namespace}]->(e)
