// what: reads teacher calls
// parameters: ids
// returns: one row a call, in no order: its properties
UNWIND $ids AS id
MATCH (c:TeacherCall {id: id})
RETURN
  c.id AS id, c.stage AS stage, c.model AS model, c.prompt_version AS prompt_version,
  c.request_sha256 AS request_sha256, c.response_sha256 AS response_sha256, c.tokens_in AS tokens_in,
  c.tokens_out AS tokens_out, c.cost_usd AS cost_usd, c.latency_ms AS latency_ms, c.created_at AS created_at,
  c.follows AS follows
