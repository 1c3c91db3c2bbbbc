// what: reads concepts
// parameters: namespace, ids
// returns: one row a concept that is stored: id, text, cluster, entities
UNWIND $ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace
RETURN c.id AS id, c.name AS text, CASE WHEN c.cluster = '' THEN c.id ELSE coalesce(c.cluster, c.id) END AS cluster,
  coalesce(c.entities, 0) AS entities
