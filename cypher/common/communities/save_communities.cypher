// what: makes communities, or changes them, from maps: id, member_hash, level, things, edges, sources. One whose hash was another
//     loses its name, summary and vector
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MERGE (c:Community {id: r.id})
SET
  c.namespace = $namespace, c.level = r.level, c.things = r.things, c.edges = r.edges, c.sources = r.sources,
  c.name = CASE WHEN c.member_hash = r.member_hash THEN c.name ELSE '' END,
  c.summary = CASE WHEN c.member_hash = r.member_hash THEN c.summary ELSE '' END,
  c.summariser = CASE WHEN c.member_hash = r.member_hash THEN c.summariser ELSE '' END,
  c.embedding = CASE WHEN c.member_hash = r.member_hash THEN c.embedding ELSE NULL END,
  c.member_hash = r.member_hash
