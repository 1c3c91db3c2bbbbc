// what: finds the concepts that entities of these sources refer to, and makes other writers of these concepts wait until this
//     transaction ends; in order of id, so that two never wait for each other
// parameters: namespace, source_ids
// returns: one row an entity: id (the concept's), entities (how many refer to it), entity, variants (the entity's other names)
UNWIND $source_ids AS source_id
MATCH (e:Entity {namespace: $namespace, source_id: source_id})-[:REFERS_TO]->(c:Concept)
USING INDEX SEEK e:Entity(namespace, source_id)
WITH c, collect(e) AS members
ORDER BY c.id
SET c.key = c.key
WITH c, members
UNWIND members AS e
RETURN c.id AS id, c.entities AS entities, e.id AS entity, coalesce(e.variants, []) AS variants
