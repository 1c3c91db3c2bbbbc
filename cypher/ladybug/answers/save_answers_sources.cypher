// what: links answers to those of the sources that they rest on that are stored
// parameters: namespace, rows
// returns: one row a link: id (the source's)
UNWIND $rows AS r
MATCH (a:Answer {id: r.answer_id})
MATCH (q:Query {id: r.id})
WHERE q.namespace = $namespace
CREATE (a)-[:ANSWERS {namespace: $namespace}]->(q)
RETURN q.id AS id
UNION ALL
UNWIND $rows AS r
MATCH (a:Answer {id: r.answer_id})
MATCH (d:Document {id: r.id})
WHERE d.namespace = $namespace
CREATE (a)-[:ANSWERS {namespace: $namespace}]->(d)
RETURN d.id AS id
