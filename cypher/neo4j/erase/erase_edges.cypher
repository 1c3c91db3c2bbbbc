// what: erases the simple edges of these queries, for an aggregation that makes them anew. Before it looks it makes other writers
//     of them wait until this transaction ends; in order of id, so that two never wait for each other
// parameters: namespace, source_ids
// returns: one row a query that is stored: id
UNWIND $source_ids AS id
WITH id ORDER BY id
MATCH (q:Source {id: id})
USING INDEX SEEK q:Source(id)
WHERE q.namespace = $namespace
SET q.status = q.status
WITH collect(q.id) AS ids
UNWIND ids AS id
CALL (id) {
  MATCH ()-[r:RELATED {namespace: $namespace, source_id: id}]->()
  USING INDEX SEEK r:RELATED(namespace, source_id)
  DELETE r
}
RETURN id
