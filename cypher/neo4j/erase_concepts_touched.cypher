// what: finds the concepts that entities of queries refer to, and makes other writers of these concepts wait until this transaction
//     ends; in order of id, so that two never wait for each other
// parameters: namespace, source_ids
// returns: one row a concept: id, entities (how many refer to it), variants (pairs of the id and the other names of each of the
//     queries' own)
UNWIND $source_ids AS id
MATCH (e:Entity {namespace: $namespace, source_id: id})-[:REFERS_TO]->(c:Concept)
USING INDEX SEEK e:Entity(namespace, source_id)
WITH c, collect([e.id, coalesce(e.variants, [])]) AS variants
ORDER BY c.id
SET c.key = c.key
WITH c, variants
RETURN c.id AS id, c.entities AS entities, variants
