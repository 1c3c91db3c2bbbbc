// what: makes the nodes of new documents from maps of their properties
// parameters: rows
// returns: nothing
UNWIND $rows AS r
CREATE (:Document {
  namespace: r.namespace, id: r.id, name: r.name, uri: r.uri, sha256: r.sha256, media_type: r.media_type,
  modified_at: r.modified_at, settings_hash: r.settings_hash, status: r.status, blind: r.blind, embedding: r.embedding,
  created_at: r.created_at, expires_at: r.expires_at, graph: '', call_ids: r.call_ids
})
