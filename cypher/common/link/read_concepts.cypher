// what: reads concepts, from maps of ids: id
// parameters: namespace, rows
// returns: one row a concept that is there: id, key, name, entities, cluster, revision, embedding
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
WHERE c.namespace = $namespace
RETURN
  c.id AS id, c.key AS key, c.name AS name, c.entities AS entities, c.cluster AS cluster, c.revision AS revision,
  c.embedding AS embedding
