// what: gives stored documents new properties, by maps of them; the answers that rest on them stay linked to them
// parameters: rows
// returns: nothing
UNWIND $rows AS r
MATCH (d:Document {id: r.id})
WHERE d.namespace = r.namespace
SET
  d.name = r.name, d.uri = r.uri, d.sha256 = r.sha256, d.media_type = r.media_type, d.modified_at = r.modified_at,
  d.settings_hash = r.settings_hash, d.status = r.status, d.blind = r.blind, d.embedding = CAST(r.embedding AS DOUBLE[]),
  d.created_at = r.created_at, d.expires_at = r.expires_at, d.call_ids = r.call_ids,
  d.linked = false
