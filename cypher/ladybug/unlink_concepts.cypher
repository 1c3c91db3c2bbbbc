// what: finds the concepts of a query's entities, before these are erased
// parameters: namespace, source_id
// returns: one row a concept: id, entities (how many other entities refer to it)
MATCH (q:Query {id: $source_id})-[:MENTIONS]->(e:Entity)-[:REFERS_TO]->(c:Concept)
WHERE q.namespace = $namespace
WITH c, count(*) AS number
RETURN c.id AS id, c.entities - number AS entities
