// what: erases all that hangs on these queries; the query nodes and their answers stay
// parameters: namespace, source_ids
// returns: one row a query: id, evidence, entities, calls, triples (how many went)
UNWIND $source_ids AS id
CALL (id) {
  MATCH ()-[t:TRIPLE {namespace: $namespace, source_id: id}]->()
  USING INDEX SEEK t:TRIPLE(namespace, source_id)
  DELETE t
  RETURN count(*) AS triples
}
CALL (id) {
  MATCH (n:Evidence {namespace: $namespace, source_id: id})
  USING INDEX SEEK n:Evidence(namespace, source_id)
  DETACH DELETE n
  RETURN count(*) AS evidence
}
CALL (id) {
  MATCH (n:Entity {namespace: $namespace, source_id: id})
  USING INDEX SEEK n:Entity(namespace, source_id)
  DETACH DELETE n
  RETURN count(*) AS entities
}
CALL (id) {
  MATCH (n:TeacherCall {namespace: $namespace, source_id: id})
  USING INDEX SEEK n:TeacherCall(namespace, source_id)
  DETACH DELETE n
  RETURN count(*) AS calls
}
CALL (id) {
  MATCH (n:Chunk {namespace: $namespace, source_id: id})
  USING INDEX SEEK n:Chunk(namespace, source_id)
  DETACH DELETE n
  RETURN count(*) AS chunks
}
RETURN id, evidence AS Evidence, entities AS Entity, calls AS TeacherCall, triples AS TRIPLE
