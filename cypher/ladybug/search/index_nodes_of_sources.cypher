// what: reads the concept that stands for each linked entity of sources
// parameters: ids
// returns: one row an entity that refers to a concept: id, node
UNWIND $ids AS id
MATCH (q:Source {id: id})-[:MENTIONS]->(n:Entity)-[:REFERS_TO]->(c:Concept)
RETURN n.id AS id, CASE WHEN coalesce(c.cluster, '') = '' THEN c.id ELSE c.cluster END AS node
