// what: takes from the communities of these sources' entities the hash, and the name, summary and vector, which rest on them
// parameters: namespace, source_ids
// returns: one row an entity: entity, community (ids)
MATCH (s:Source)-[:MENTIONS]->(e:Entity)-[:IN_COMMUNITY]->(c:Community)
WHERE s.namespace = $namespace AND s.id IN $source_ids
SET c.member_hash = '', c.name = '', c.summary = '', c.summariser = '', c.embedding = NULL
RETURN e.id AS entity, c.id AS community
