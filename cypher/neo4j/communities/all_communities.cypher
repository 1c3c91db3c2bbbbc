// what: reads all communities, page by page, with their members
// parameters: namespace, after (the last id of the page before), limit, vectors (whether these are wanted, too)
// returns: one row a community, by id: id, member_hash, name, summary, summariser, level, things, edges, sources, embedding,
//     entities (ids)
MATCH (c:Community)
USING INDEX SEEK c:Community(namespace, id)
WHERE c.namespace = $namespace AND c.id > $after
WITH c
ORDER BY c.namespace, c.id
LIMIT $limit
RETURN
  c.id AS id, c.member_hash AS member_hash, c.name AS name, c.summary AS summary, c.summariser AS summariser, c.level AS level,
  c.things AS things, c.edges AS edges, c.sources AS sources, CASE WHEN $vectors THEN c.embedding END AS embedding,
  COLLECT { MATCH (c)<-[:IN_COMMUNITY]-(e:Entity) RETURN e.id } AS entities
