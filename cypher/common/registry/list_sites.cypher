// what: lists the sites of the namespace
// parameters: namespace
// returns: one row per site: id, name, token_sha256, created_at, seen_at, refused, summaries (count)
MATCH (e:Edge)
WHERE e.namespace = $namespace AND e.id IS NOT NULL
OPTIONAL MATCH (e)-[:HAS_SUMMARY]->(s:Summary)
RETURN
  e.id AS id, e.name AS name, e.token_sha256 AS token_sha256, e.created_at AS created_at, e.seen_at AS seen_at,
  e.refused AS refused, count(s) AS summaries
