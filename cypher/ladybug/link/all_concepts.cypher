// what: reads all concepts, page by page, with the other names of their entities
// parameters: namespace, after (the last id of the page before), limit, vectors (whether these are wanted, too)
// returns: one row a concept: id, key, name, entities, cluster, revision, embedding, variants (a list an entity that has some)
MATCH (c:Concept)
WHERE c.namespace = $namespace AND c.id > $after
WITH c
ORDER BY c.id
LIMIT $limit
OPTIONAL MATCH (e:Entity)-[:REFERS_TO]->(c)
WHERE size(e.variants) > 0
WITH c, collect(e.variants) AS variants
RETURN
  c.id AS id, c.key AS key, c.name AS name, c.entities AS entities, c.cluster AS cluster, c.revision AS revision,
  CASE WHEN $vectors THEN c.embedding END AS embedding, variants
