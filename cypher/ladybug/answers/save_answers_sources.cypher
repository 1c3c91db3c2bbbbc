// what: links answers to those of the sources that they rest on that are stored
// parameters: namespace, rows
// returns: one row a link: id (the source's)
UNWIND $rows AS r
MATCH (a:Answer {id: r.answer_id})
MATCH (q:Source {id: r.id})
WHERE q.namespace = $namespace
CREATE (a)-[:ANSWERS {namespace: $namespace}]->(q)
RETURN q.id AS id
