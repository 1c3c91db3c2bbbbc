// what: copies teacher calls from an arrow table whose columns are in this order
// parameters: rows
// returns: nothing
COPY TeacherCall (
  id, source_id, stage, model, prompt_version, request_sha256, response_sha256, tokens_in, tokens_out, cost_usd, latency_ms,
  created_at, namespace
) FROM $rows
