// what: takes the entities of queries from their concepts, before they are replaced: concepts that no other entity refers to go
//     with their judgements, the others are counted again; the clusters of all that are touched are open then. A concept with a
//     judgement that was taken back stays for the sake of it, without its name
// parameters: namespace, source_ids
// returns: nothing
UNWIND $source_ids AS id
MATCH (e:Entity {namespace: $namespace, source_id: id})
USING INDEX SEEK e:Entity(namespace, source_id)
MATCH (e)-[r:REFERS_TO]->(c:Concept)
WITH c, collect(r) AS links
ORDER BY c.id
SET c.cluster = ''
FOREACH (link IN links | DELETE link)
WITH c, c.entities - size(links) AS number
SET c.entities = number
WITH c
WHERE c.entities <= 0
CALL (c) {
  MATCH (c)-[:SAME_AS]-(other:Concept)
  SET other.cluster = ''
}
CALL (c) {
  MATCH (c)-[s:SAME_AS]-()
  WHERE s.undone_at = ''
  DELETE s
}
WITH c, EXISTS { (c)-[:SAME_AS]-() } AS is_kept
FOREACH (_ IN CASE WHEN is_kept THEN [1] ELSE [] END | SET c.key = '', c.name = '', c.embedding = NULL, c.entities = 0)
WITH collect(CASE WHEN NOT is_kept THEN c END) AS gone
FOREACH (c IN gone | DETACH DELETE c)
