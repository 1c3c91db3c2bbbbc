// what: the edge of an id
// parameters: namespace, id
// returns: at most one row: id, name, token_sha256, created_at, seen_at, refused, summaries (how many)
MATCH (e:Edge {id: $id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (e)-[:HAS_SUMMARY]->(s:Summary)
RETURN
  e.id AS id, e.name AS name, e.token_sha256 AS token_sha256, e.created_at AS created_at, e.seen_at AS seen_at,
  e.refused AS refused, count(s) AS summaries
