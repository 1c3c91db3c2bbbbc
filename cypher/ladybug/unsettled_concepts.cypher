// what: finds concepts whose cluster is open, with how often their entities write the name in which way. Those that only keep a
//     judgement are none
// parameters: namespace, after, limit
// returns: one row a concept and name: id, key, name, entities, written, number, forms (how many other names these entities have)
MATCH (c:Concept)
WHERE c.namespace = $namespace AND c.cluster = '' AND c.id > $after AND c.name <> ''
WITH c
ORDER BY c.id
LIMIT $limit
MATCH (c)<-[:REFERS_TO]-(e:Entity)
RETURN
  c.id AS id, c.key AS key, c.name AS name, c.entities AS entities, e.name AS written, count(*) AS number,
  sum(size(e.variants)) AS forms
