// what: writes a site, unless its id exists
// parameters: namespace, id, name, token_sha256, created_at
// returns: one row: token_sha256 (of the site that is stored now)
MERGE (e:Edge {id: $id})
ON CREATE SET
  e.namespace = $namespace, e.name = $name, e.token_sha256 = $token_sha256, e.created_at = $created_at, e.seen_at = '',
  e.refused = 0
RETURN e.token_sha256 AS token_sha256
