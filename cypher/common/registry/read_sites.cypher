// what: reads sites by id
// parameters: namespace, ids
// returns: one row per existing site: id, name, token_sha256, created_at, seen_at, refused, summaries (count)
UNWIND $ids AS id
MATCH (e:Edge {id: id})
WHERE e.namespace = $namespace
OPTIONAL MATCH (e)-[:HAS_SUMMARY]->(s:Summary)
RETURN
  e.id AS id, e.name AS name, e.token_sha256 AS token_sha256, e.created_at AS created_at, e.seen_at AS seen_at,
  e.refused AS refused, count(s) AS summaries
