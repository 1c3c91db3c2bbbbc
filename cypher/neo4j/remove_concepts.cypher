// what: removes those of these concepts that no entity refers to, with their judgements, counts the others' entities again,
//     and opens the clusters of all that are touched
// parameters: namespace, concept_ids
// returns: one row: removed (how many went)
UNWIND $concept_ids AS id
WITH id ORDER BY id
MATCH (c:Concept {id: id})
USING INDEX SEEK c:Concept(id)
WHERE c.namespace = $namespace
SET c.cluster = ''
WITH c, COUNT { (c)<-[:REFERS_TO]-() } AS number
SET c.entities = number
WITH c
WHERE c.entities = 0
CALL (c) {
  MATCH (c)-[:SAME_AS]-(other:Concept)
  SET other.cluster = ''
}
WITH collect(c) AS gone
FOREACH (c IN gone | DETACH DELETE c)
RETURN size(gone) AS removed
