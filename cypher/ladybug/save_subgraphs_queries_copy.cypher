// what: copies queries from an arrow table whose columns are in this order
// parameters: rows
// returns: nothing
COPY Query (
  id, namespace, text, `options`, domain, complexity, input_id, metadata, settings_hash, status, graph, blind,
  embedding, created_at, expires_at, call_ids, aggregation
) FROM $rows
