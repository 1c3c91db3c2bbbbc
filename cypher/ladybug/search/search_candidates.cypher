// what: reads the texts of queries, of evidence and of concepts
// parameters: namespace, ids
// returns: one row a node that is there: id, text, source_id, cluster, entities
UNWIND $ids AS id
MATCH (q:Source {id: id})
WHERE q.namespace = $namespace
RETURN q.id AS id, q.text AS text, '' AS source_id, '' AS cluster, 0 AS entities
UNION ALL
UNWIND $ids AS id
MATCH (e:Evidence {id: id})
WHERE e.namespace = $namespace
RETURN e.id AS id, e.text AS text, e.source_id AS source_id, '' AS cluster, 0 AS entities
UNION ALL
UNWIND $ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace
RETURN c.id AS id, c.name AS text, '' AS source_id, CASE WHEN c.cluster = '' THEN c.id ELSE coalesce(c.cluster, c.id) END AS cluster,
  coalesce(c.entities, 0) AS entities
