// what: writes new summaries of a site
// parameters: namespace, site_id, rows (maps of id, key, hash, text, embedding)
// returns: nothing
UNWIND $rows AS r
MATCH (e:Edge {id: $site_id})
WHERE e.namespace = $namespace
CREATE
  (e)-[:HAS_SUMMARY {namespace: $namespace}]->
  (:Summary {
    id: r.id, namespace: $namespace, edge_id: $site_id, key: r.key, hash: r.hash, text: r.text, embedding: r.embedding
  })
