// what: finds concepts whose cluster is open, with how often their entities write the name in which way. Those that only keep a
//     judgement are none
// parameters: namespace, after, limit
// returns: one row a concept, by id: id, key, name, entities, names (lists of name, number, how many other names these have)
MATCH (c:Concept {namespace: $namespace, cluster: ''})
USING INDEX SEEK c:Concept(namespace, cluster, id)
WHERE c.id > $after AND c.name <> ''
WITH c
ORDER BY c.namespace, c.cluster, c.id
LIMIT $limit
RETURN c.id AS id, c.key AS key, c.name AS name, coalesce(c.entities, 0) AS entities, COLLECT {
  MATCH (c)<-[:REFERS_TO]-(e:Entity)
  WITH e.name AS name, count(*) AS number, sum(coalesce(size(e.variants), 0)) AS forms
  RETURN [name, number, forms]
} AS names
ORDER BY id
