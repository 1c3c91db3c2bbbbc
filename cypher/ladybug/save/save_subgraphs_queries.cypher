// what: makes the nodes of new queries from maps of their properties
// parameters: rows
// returns: nothing
UNWIND $rows AS r
CREATE (:Query {
  namespace: r.namespace, id: r.id, text: r.text, `options`: r.`options`, domain: r.domain, complexity: r.complexity,
  input_id: r.input_id, metadata: r.metadata, settings_hash: r.settings_hash, status: r.status, blind: r.blind,
  embedding: r.embedding, created_at: r.created_at, expires_at: r.expires_at,
  graph: '', call_ids: r.call_ids
})
