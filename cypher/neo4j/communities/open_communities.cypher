// what: takes from the communities of these sources' entities the hash, and the name, summary and vector, which rest on them; in
//     order of id, so that two never wait for each other
// parameters: namespace, source_ids
// returns: one row an entity: entity, community (ids)
UNWIND $source_ids AS source_id
MATCH (e:Entity {namespace: $namespace, source_id: source_id})-[:IN_COMMUNITY]->(c:Community)
USING INDEX SEEK e:Entity(namespace, source_id)
WITH c, collect(e.id) AS members
ORDER BY c.id
SET c.member_hash = '', c.name = '', c.summary = '', c.summariser = '', c.embedding = NULL
WITH c, members
UNWIND members AS entity
RETURN entity, c.id AS community
