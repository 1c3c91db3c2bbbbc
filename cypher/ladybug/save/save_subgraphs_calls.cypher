// what: writes teacher calls from maps of their properties
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
CREATE (:TeacherCall {
  namespace: $namespace, source_id: r.source_id, id: r.id, stage: r.stage, model: r.model,
  prompt_version: r.prompt_version, request_sha256: r.request_sha256, response_sha256: r.response_sha256,
  tokens_in: r.tokens_in, tokens_out: r.tokens_out, cost_usd: r.cost_usd, latency_ms: r.latency_ms,
  created_at: r.created_at, follows: r.follows
})
