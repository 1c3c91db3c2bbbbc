// what: erases those of these concepts that no entity refers to any more, with the vectors and judgements on them, and counts the
//     entities of the others. The clusters that either were in are open then, until `link` has come to them
// parameters: namespace, concept_ids
// returns: one row: number (how many concepts went)
UNWIND $concept_ids AS id
MATCH (c:Concept {id: id})
USING INDEX SEEK c:Concept(id)
WHERE c.namespace = $namespace
WITH c, COUNT { (c)<-[:REFERS_TO]-() } AS entities
WHERE entities = 0 OR entities <> coalesce(c.entities, 0)
WITH collect([c, entities]) AS changed, collect(DISTINCT c.cluster) AS clusters
CALL (clusters) {
  UNWIND clusters AS cluster
  MATCH (other:Concept {namespace: $namespace, cluster: cluster})
  WHERE cluster <> ''
  SET other.cluster = ''
}
CALL (changed) {
  UNWIND changed AS pair
  WITH pair[0] AS c, pair[1] AS entities
  SET c.entities = entities, c.cluster = ''
}
CALL (changed) {
  UNWIND changed AS pair
  WITH pair[0] AS c, pair[1] AS entities
  WHERE entities = 0
  MATCH (c)-[:SAME_AS]-(other:Concept)
  SET other.cluster = ''
}
CALL (changed) {
  UNWIND changed AS pair
  WITH pair[0] AS c, pair[1] AS entities
  WHERE entities = 0
  DETACH DELETE c
  RETURN count(*) AS number
}
RETURN number
