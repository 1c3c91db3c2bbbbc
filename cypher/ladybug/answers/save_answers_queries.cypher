// what: links answers to those of their queries that are stored
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (a:Answer {id: r.answer_id})
MATCH (q:Query {id: r.id})
WHERE q.namespace = r.namespace
CREATE (a)-[:ANSWERS {namespace: r.namespace}]->(q)
