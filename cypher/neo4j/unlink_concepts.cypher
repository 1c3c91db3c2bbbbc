// what: takes the entities of queries from their concepts, before they are erased: concepts that no other entity refers to go
//     with their judgements, the others are counted again; the clusters of all that are touched are open then
// parameters: namespace, query_ids
// returns: nothing
UNWIND $query_ids AS id
MATCH (e:Entity {namespace: $namespace, query_id: id})
USING INDEX SEEK e:Entity(namespace, query_id)
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
WITH collect(c) AS gone
FOREACH (c IN gone | DETACH DELETE c)
