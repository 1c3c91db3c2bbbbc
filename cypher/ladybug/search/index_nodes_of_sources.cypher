// what: reads the concept that stands for each linked entity of sources
//     (after an UNWIND of ids, the engine reads all relationships of the store)
// parameters: ids
// returns: one row an entity that refers to a concept: id, node
MATCH (q:Source)-[:MENTIONS]->(n:Entity)-[:REFERS_TO]->(c:Concept)
WHERE q.id IN $ids
RETURN n.id AS id, CASE WHEN coalesce(c.cluster, '') = '' THEN c.id ELSE c.cluster END AS node
