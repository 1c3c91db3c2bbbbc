// what: erases those of these concepts that no entity refers to any more, with the vectors and judgements on them, counts the
//     entities of the others, and calls these as one that is left is written. They are counted only when nobody else can write to
//     them, in order of id. The clusters that any of them were in are open then, until `link` has come to them
// parameters: namespace, concept_ids
// returns: one row: number (how many concepts went)
UNWIND $concept_ids AS id
WITH id ORDER BY id
MATCH (c:Concept {id: id})
USING INDEX SEEK c:Concept(id)
WHERE c.namespace = $namespace
SET c.key = c.key
WITH c, COUNT { (c)<-[:REFERS_TO]-() } AS entities
WHERE entities = 0 OR entities <> coalesce(c.entities, 0)
WITH collect([c, entities]) AS changed, collect(DISTINCT c.cluster) AS clusters
CALL (clusters) {
  UNWIND clusters AS cluster
  MATCH (other:Concept {namespace: $namespace, cluster: cluster})
  WHERE cluster <> ''
  WITH other
  ORDER BY other.id
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
  WHERE entities > 0 AND NOT EXISTS { (c)<-[:REFERS_TO]-(e:Entity) WHERE e.name = c.name }
  CALL (c) {
    MATCH (c)<-[:REFERS_TO]-(e:Entity)
    RETURN min(e.name) AS name
  }
  SET c.name = name, c.embedding = NULL
}
CALL (changed) {
  UNWIND changed AS pair
  WITH pair[0] AS c, pair[1] AS entities
  WHERE entities = 0
  MATCH (c)-[:SAME_AS]-(other:Concept)
  WITH DISTINCT other
  ORDER BY other.id
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
