// what: finds the concepts that entities of these sources refer to
// parameters: namespace, source_ids
// returns: one row an entity: id (the concept's), entities (how many refer to it), entity, variants (the entity's other names)
MATCH (s:Source)-[:MENTIONS]->(e:Entity)-[:REFERS_TO]->(c:Concept)
WHERE s.namespace = $namespace AND s.id IN $source_ids
RETURN c.id AS id, c.entities AS entities, e.id AS entity, e.variants AS variants
