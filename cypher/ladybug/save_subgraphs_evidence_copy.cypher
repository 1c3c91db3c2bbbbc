// what: copies evidence from an arrow table whose columns are in this order
// parameters: rows
// returns: nothing
COPY Evidence (
  id, source_id, text, framing, position, cosine, llm_score, score, rank, kept, reason, created_at, namespace
) FROM $rows
