// what: makes the nodes of documents from maps of their properties
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
CREATE (:Source {
  namespace: $namespace, kind: 'document', id: r.id, name: r.name, uri: r.uri, sha256: r.sha256, media_type: r.media_type,
  modified_at: r.modified_at, date: r.date, tags: r.tags[2:], input_id: r.input_id,
  settings_hash: r.settings_hash, status: r.status, blind: r.blind, embedding: CAST(r.embedding AS DOUBLE[]), created_at: r.created_at, expires_at: r.expires_at, graph: '',
  call_ids: r.call_ids, linked: false
})
