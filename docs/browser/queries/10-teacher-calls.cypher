// 10 Cost of teacher calls
// Parameters: namespace
MATCH (c:TeacherCall)
WHERE c.namespace = $namespace
RETURN c.model AS model, c.stage AS stage, count(*) AS calls, sum(c.tokens_in) AS tokens_in, sum(c.tokens_out) AS tokens_out,
  sum(c.cost_usd) AS cost_usd, round(avg(c.latency_ms)) AS mean_latency_ms
ORDER BY cost_usd DESC, model, stage
