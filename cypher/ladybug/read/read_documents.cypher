// what: reads the nodes of documents
// parameters: namespace, source_ids
// returns: one row a document that is stored: its properties, place
UNWIND $source_ids AS id
MATCH (d:Document {id: id})
WHERE d.namespace = $namespace
RETURN
  d.id AS id, d.name AS name, d.uri AS uri, d.sha256 AS sha256, d.media_type AS media_type, d.modified_at AS modified_at,
  d.settings_hash AS settings_hash, d.status AS status, d.graph AS graph, d.blind AS blind, d.embedding AS embedding,
  d.created_at AS created_at, d.expires_at AS expires_at, d.aggregation AS aggregation, d.call_ids AS call_ids, id(d) AS place
