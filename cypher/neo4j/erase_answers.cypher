// what: erases every answer that rests on a query
// parameters: namespace, query_id
// returns: one row: answers (how many went)
MATCH (a:Answer)
WHERE a.namespace = $namespace AND a.id IS NOT NULL
  AND ($query_id IN a.query_ids
    OR EXISTS { (a)-[:ANSWERS]->(:Query {id: $query_id}) }
    OR EXISTS { (a)-[:USED]->(:Evidence {query_id: $query_id}) })
DETACH DELETE a
RETURN count(*) AS answers
