// what: gives stored queries new properties, by maps of them; their answers stay linked to them
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (q:Query {id: r.id})
WHERE q.namespace = r.namespace
SET
  q.text = r.text, q.`options` = r.`options`, q.domain = r.domain, q.complexity = r.complexity, q.input_id = r.input_id,
  q.metadata = r.metadata, q.settings_hash = r.settings_hash, q.status = r.status, q.blind = r.blind,
  q.embedding = CAST(r.embedding AS DOUBLE[]), q.created_at = r.created_at, q.expires_at = r.expires_at,
  q.call_ids = r.call_ids, q.linked = false
