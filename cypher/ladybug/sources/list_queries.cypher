// what: lists the queries of the namespace
// parameters: namespace, limit, offset
// returns: one row a query, the newest first: id, text, options, domain, graph, status, settings_hash, created_at
MATCH (q:Query)
WHERE q.namespace = $namespace
RETURN
  q.id AS id, q.text AS text, q.`options` AS `options`, q.domain AS domain, q.graph AS graph, q.status AS status,
  q.settings_hash AS settings_hash, q.created_at AS created_at
ORDER BY created_at DESC, id
SKIP $offset
LIMIT $limit
