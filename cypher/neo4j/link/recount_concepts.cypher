// what: counts the entities of these concepts again, calls one that none of them is written as like one that is, and empties the
//     clusters, so that `link` judges them again. The first SET waits for other writers, and then the entities are counted
// parameters: namespace, ids
// returns: one row a concept that is there: id, entities
UNWIND $ids AS id
WITH DISTINCT id
ORDER BY id
MATCH (c:Concept {id: id})
USING INDEX SEEK c:Concept(id)
WHERE c.namespace = $namespace
SET c.cluster = '', c.revision = coalesce(c.revision, 0) + 1
WITH c, COUNT { (c)<-[:REFERS_TO]-() } AS number
SET c.entities = number
WITH c, number, number > 0 AND NOT EXISTS { (c)<-[:REFERS_TO]-(e:Entity) WHERE e.name = c.name } AS is_called_otherwise
CALL (c, is_called_otherwise) {
  WITH c, is_called_otherwise
  WHERE is_called_otherwise
  MATCH (c)<-[:REFERS_TO]-(e:Entity)
  WITH c, min(e.name) AS name
  SET c.name = name, c.embedding = NULL
}
RETURN c.id AS id, number AS entities
