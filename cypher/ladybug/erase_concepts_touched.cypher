// what: finds the concepts that entities of a query refer to
// parameters: namespace, source_id
// returns: one row an entity: id (of the concept), entities (how many refer to it), entity, variants (its other names)
MATCH (q:Query {id: $source_id})-[:MENTIONS]->(e:Entity)-[:REFERS_TO]->(c:Concept)
WHERE q.namespace = $namespace
RETURN c.id AS id, c.entities AS entities, e.id AS entity, e.variants AS variants
