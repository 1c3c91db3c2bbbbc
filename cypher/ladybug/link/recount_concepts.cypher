// what: counts the entities of these concepts again, calls one that none of them is written as like one that is, and empties the
//     clusters, so that `link` judges them again
// parameters: namespace, ids
// returns: one row a concept that is there: id, entities
UNWIND $ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace
OPTIONAL MATCH (e:Entity)-[:REFERS_TO]->(c)
WITH c, count(e) AS number, min(e.name) AS least, collect(e.name) AS names
WITH c, number, least, number > 0 AND NOT list_contains(names, c.name) AS is_called_otherwise
SET
  c.entities = number, c.cluster = '', c.revision = coalesce(c.revision, 0) + 1,
  c.name = CASE WHEN is_called_otherwise THEN least ELSE c.name END,
  c.embedding = CASE WHEN is_called_otherwise THEN NULL ELSE c.embedding END
RETURN c.id AS id, number AS entities
