// what: makes the nodes of queries from maps of their properties
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
CREATE (:Source {
  namespace: $namespace, kind: 'query', id: r.id, text: r.text, `options`: r.`options`[2:], domain: r.domain, complexity: r.complexity,
  input_id: r.input_id, metadata: r.metadata, settings_hash: r.settings_hash, status: r.status, blind: r.blind,
  embedding: CAST(r.embedding AS DOUBLE[]), created_at: r.created_at, expires_at: r.expires_at, graph: '',
  call_ids: r.call_ids, linked: false
})
