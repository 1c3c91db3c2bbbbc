// what: reads communities
// parameters: namespace, ids
// returns: one row a community that is there: id, member_hash, name, summary, summariser, level, things, edges, sources
UNWIND $ids AS id
MATCH (c:Community {id: id})
WHERE c.namespace = $namespace
RETURN
  c.id AS id, c.member_hash AS member_hash, c.name AS name, c.summary AS summary, c.summariser AS summariser, c.level AS level,
  c.things AS things, c.edges AS edges, c.sources AS sources
