// what: finds the answers that are linked with a query or its evidence, and others by id
// parameters: namespace, source_id, answer_ids
// returns: one row an answer: id, line_json, snapshot
CALL () {
  MATCH (a:Answer)-[:ANSWERS]->(q:Query {id: $source_id})
  USING INDEX SEEK q:Query(id)
  RETURN a
  UNION
  MATCH (e:Evidence {namespace: $namespace, source_id: $source_id})<-[:USED]-(a:Answer)
  USING INDEX SEEK e:Evidence(namespace, source_id)
  RETURN a
  UNION
  UNWIND $answer_ids AS id
  MATCH (a:Answer {id: id})
  USING INDEX SEEK a:Answer(id)
  RETURN a
}
WITH a
WHERE a.namespace = $namespace
RETURN a.id AS id, a.line_json AS line_json, a.snapshot AS snapshot
