// what: finds the answers that rest on a query
// parameters: namespace, query_id
// returns: one row an answer: id, line_json, snapshot
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.id IS NOT NULL
  AND ($query_id IN a.query_ids
    OR EXISTS { (a)-[:ANSWERS]->(:Query {id: $query_id}) }
    OR EXISTS { (a)-[:USED]->(:Evidence {query_id: $query_id}) })
RETURN a.id AS id, a.line_json AS line_json, a.snapshot AS snapshot
