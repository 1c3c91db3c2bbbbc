// what: reads all nodes Query of the namespace
// parameters: namespace
// returns: one row a node: its properties
MATCH (n:Query)
WHERE n.namespace = $namespace
RETURN
  n.id AS id, n.namespace AS namespace, n.text AS text, n.`options` AS `options`, n.domain AS domain,
  n.complexity AS complexity, n.input_id AS input_id, n.metadata AS metadata, n.settings_hash AS settings_hash,
  n.status AS status, n.graph AS graph, n.blind AS blind, n.embedding AS embedding, n.created_at AS created_at, n.expires_at AS expires_at
