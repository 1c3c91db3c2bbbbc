// what: links evidence to its query again, where that is stored and the link is gone
// parameters: namespace, ids
// returns: nothing
UNWIND $ids AS id
MATCH (n:Evidence {id: id})
WHERE n.namespace = $namespace AND NOT EXISTS { MATCH (:Query)-[:HAS_EVIDENCE]->(n) }
MATCH (q:Query {id: n.source_id})
WHERE q.namespace = $namespace
CREATE (q)-[:HAS_EVIDENCE {namespace: $namespace}]->(n)
