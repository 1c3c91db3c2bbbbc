// what: makes concepts where they are not there, lets entities refer to them, and counts. Each row is a list: concept id,
//     key, name, ids of entities; by concept id, so that two runs never wait for each other. Only entities that are there and
//     refer to no concept count, and a concept without any is not made
// parameters: namespace, rows
// returns: one row: linked (how many entities refer to a concept now), made (how many concepts are new)
UNWIND $rows AS row
CALL (row) {
  UNWIND row[3] AS id
  MATCH (e:Entity {id: id})
  USING INDEX SEEK e:Entity(id)
  WHERE e.namespace = $namespace AND NOT EXISTS { (e)-[:REFERS_TO]->() }
  RETURN collect(e) AS entities
}
WITH row, entities
WHERE size(entities) > 0
MERGE (c:Concept {id: row[0]})
ON CREATE SET c.namespace = $namespace, c.key = row[1], c.name = row[2], c.entities = 0
SET c.cluster = ''
WITH c, row, entities, c.entities AS before
FOREACH (_ IN CASE c.name WHEN '' THEN [1] ELSE [] END | SET c.key = row[1], c.name = row[2])
WITH c, entities, before
CALL (c, entities) {
  UNWIND entities AS e
  MERGE (e)-[r:REFERS_TO]->(c)
  ON CREATE SET r.namespace = $namespace
}
WITH c, before, size(entities) AS fresh, COUNT { (c)<-[:REFERS_TO]-() } AS number
SET c.entities = number
RETURN coalesce(sum(fresh), 0) AS linked, count(CASE WHEN before = 0 THEN 1 END) AS made
