// what: writes summaries that an edge does not have yet
// parameters: namespace, edge_id, rows (maps of id, key, hash, text, embedding)
// returns: nothing
UNWIND $rows AS r
MATCH (e:Edge {id: $edge_id})
WHERE e.namespace = $namespace
CREATE
  (e)-[:HAS_SUMMARY {namespace: $namespace}]->
  (:Summary {
    id: r.id, namespace: $namespace, edge_id: $edge_id, key: r.key, hash: r.hash, text: r.text, embedding: r.embedding
  })
