// what: reads all concepts, page by page, with the other names of their entities
// parameters: namespace, after (the last id of the page before), limit, vectors (whether these are wanted, too)
// returns: one row a concept, by id: id, key, name, entities, cluster, revision, embedding, variants (a list an entity that has some)
MATCH (c:Concept)
USING INDEX SEEK c:Concept(namespace, id)
WHERE c.namespace = $namespace AND c.id > $after
WITH c
ORDER BY c.namespace, c.id
LIMIT $limit
RETURN
  c.id AS id, c.key AS key, c.name AS name, c.entities AS entities, c.cluster AS cluster, c.revision AS revision,
  CASE WHEN $vectors THEN c.embedding END AS embedding, COLLECT {
    MATCH (c)<-[:REFERS_TO]-(e:Entity)
    WHERE size(e.variants) > 0
    RETURN e.variants
  } AS variants
