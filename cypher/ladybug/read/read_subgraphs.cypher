// what: reads the nodes of sources
// parameters: namespace, ids
// returns: one row a source that is stored: kind, the properties of a query and those of a document, of which it has one kind
UNWIND $ids AS id
MATCH (q:Source {id: id})
WHERE q.namespace = $namespace
RETURN
  q.id AS id, q.kind AS kind, q.text AS text, q.`options` AS `options`, q.domain AS domain, q.complexity AS complexity,
  q.input_id AS input_id, q.metadata AS metadata, q.name AS name, q.uri AS uri, q.sha256 AS sha256,
  q.media_type AS media_type, q.modified_at AS modified_at, q.date AS date, q.tags AS tags,
  q.settings_hash AS settings_hash, q.status AS status,
  q.graph AS graph, q.blind AS blind, q.embedding AS embedding, q.created_at AS created_at, q.expires_at AS expires_at,
  q.aggregation AS aggregation, q.call_ids AS call_ids
