// what: writes answers from lists (properties, query ids, evidence ids) and links them to what is stored of those; an answer
//     that is there already stays as it is
// parameters: namespace, answers
// returns: nothing
UNWIND $answers AS row
MERGE (a:Answer {id: row[0].id})
ON CREATE SET a = row[0]
WITH a, row
CALL (a, row) {
  UNWIND row[1] AS id
  MATCH (q:Query {id: id})
  USING INDEX SEEK q:Query(id)
  WHERE q.namespace = $namespace
  MERGE (a)-[r:ANSWERS]->(q)
  ON CREATE SET r.namespace = $namespace
}
CALL (a, row) {
  UNWIND row[2] AS id
  MATCH (e:Evidence {id: id})
  USING INDEX SEEK e:Evidence(id)
  WHERE e.namespace = $namespace
  MERGE (a)-[r:USED]->(e)
  ON CREATE SET r.namespace = $namespace
}
