// what: erases parts of a query's subgraph; what its graph is made of and how many parts it has are said anew
// parameters: namespace, source_id, call_ids, evidence_ids, triple_ids, entity_ids, edge_ids, variants (pairs of an entity's id and
//     its other names), calls (those that stay), sizes, graph, expires_at (null: as it was)
// returns: nothing
MATCH (q:Query {id: $source_id})
USING INDEX SEEK q:Query(id)
WHERE q.namespace = $namespace
SET q.call_ids = $calls, q.sizes = $sizes, q.graph = $graph, q.revision = randomUUID(),
  q.expires_at = coalesce($expires_at, q.expires_at)
WITH q
CALL () {
  UNWIND $edge_ids AS id
  MATCH ()-[r:RELATED {id: id}]->()
  DELETE r
}
CALL () {
  UNWIND $triple_ids AS id
  MATCH ()-[t:TRIPLE {id: id}]->()
  DELETE t
}
CALL () {
  UNWIND $evidence_ids AS id
  MATCH (n:Evidence {id: id})
  DETACH DELETE n
}
CALL () {
  UNWIND $entity_ids AS id
  MATCH (n:Entity {id: id})
  DETACH DELETE n
}
CALL () {
  UNWIND $call_ids AS id
  MATCH (n:TeacherCall {id: id})
  DETACH DELETE n
}
CALL () {
  UNWIND $variants AS pair
  MATCH (n:Entity {id: pair[0]})
  SET n.variants = pair[1]
}
