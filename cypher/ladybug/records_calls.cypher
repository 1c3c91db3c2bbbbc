// what: reads all nodes TeacherCall of the namespace
// parameters: namespace
// returns: one row a node: its properties
MATCH (n:TeacherCall)
WHERE n.namespace = $namespace
RETURN
  n.id AS id, n.namespace AS namespace, n.source_id AS source_id, n.stage AS stage, n.model AS model,
  n.prompt_version AS prompt_version, n.request_sha256 AS request_sha256, n.response_sha256 AS response_sha256,
  n.tokens_in AS tokens_in, n.tokens_out AS tokens_out, n.cost_usd AS cost_usd, n.latency_ms AS latency_ms,
  n.created_at AS created_at, n.follows AS follows
