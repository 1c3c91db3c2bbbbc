// what: removes those of these concepts that no entity refers to, with the judgements on them, and empties the clusters of those that
//     were the same thing. `recount_concepts` comes first: it keeps other writers of them out
// parameters: namespace, ids
// returns: one row: number (how many were removed)
UNWIND $ids AS id
WITH DISTINCT id
ORDER BY id
MATCH (c:Concept {id: id})
USING INDEX SEEK c:Concept(id)
WHERE c.namespace = $namespace AND NOT EXISTS { (c)<-[:REFERS_TO]-() }
CALL (c) {
  MATCH (c)-[:SAME_AS]-(other:Concept)
  WITH DISTINCT other
  ORDER BY other.id
  SET other.cluster = '', other.revision = coalesce(other.revision, 0) + 1
}
WITH collect(c) AS orphans
FOREACH (c IN orphans | DETACH DELETE c)
RETURN size(orphans) AS number
