// what: reads all communities, page by page, with their members
// parameters: namespace, after (the last id of the page before), limit, vectors (whether these are wanted, too)
// returns: one row a community: id, member_hash, name, summary, summariser, level, things, edges, sources, embedding, entities (ids)
MATCH (c:Community)
WHERE c.namespace = $namespace AND c.id > $after
WITH c
ORDER BY c.id
LIMIT $limit
OPTIONAL MATCH (e:Entity)-[:IN_COMMUNITY]->(c)
WITH c, collect(e.id) AS entities
RETURN
  c.id AS id, c.member_hash AS member_hash, c.name AS name, c.summary AS summary, c.summariser AS summariser, c.level AS level,
  c.things AS things, c.edges AS edges, c.sources AS sources, CASE WHEN $vectors THEN c.embedding END AS embedding, entities
ORDER BY id
