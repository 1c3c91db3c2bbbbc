// what: reads the answers that rest on these sources: those to them, and those that were shown evidence of them
// parameters: namespace, source_ids
// returns: one row an answer: id, line_json, snapshot
UNWIND $source_ids AS source_id
CALL (source_id) {
  MATCH (a:Answer)-[:ANSWERS]->(q:Source {id: source_id})
  USING INDEX SEEK q:Source(id)
  RETURN a
  UNION
  MATCH (e:Evidence {namespace: $namespace, source_id: source_id})<-[:USED]-(a:Answer)
  USING INDEX SEEK e:Evidence(namespace, source_id)
  RETURN a
}
WITH DISTINCT a
WHERE a.namespace = $namespace
RETURN a.id AS id, a.line_json AS line_json, a.snapshot AS snapshot
