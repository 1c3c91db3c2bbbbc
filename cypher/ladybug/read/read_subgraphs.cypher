// what: reads the nodes of queries
// parameters: namespace, source_ids
// returns: one row a query that is stored: its properties, place
UNWIND $source_ids AS id
MATCH (q:Query {id: id})
WHERE q.namespace = $namespace
RETURN
  q.id AS id, q.text AS text, q.`options` AS `options`, q.domain AS domain, q.complexity AS complexity,
  q.input_id AS input_id, q.metadata AS metadata, q.settings_hash AS settings_hash, q.status AS status,
  q.graph AS graph, q.blind AS blind, q.embedding AS embedding, q.created_at AS created_at, q.expires_at AS expires_at,
  q.aggregation AS aggregation, q.call_ids AS call_ids, id(q) AS place
