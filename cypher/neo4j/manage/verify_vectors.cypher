// what: finds vectors that are all zeros although what they are of has words
// parameters: namespace
// returns: one row a vector: id, label
MATCH (n:Query)
USING INDEX SEEK n:Query(namespace, id)
WHERE
  n.namespace = $namespace AND n.id IS NOT NULL AND size(n.embedding) > 0 AND all(x IN n.embedding WHERE x = 0.0)
  AND n.text =~ '(?s).*[\\p{L}\\p{N}].*'
RETURN n.id AS id, 'question' AS label
UNION ALL
MATCH (n:Evidence)
USING INDEX SEEK n:Evidence(namespace, source_id)
WHERE
  n.namespace = $namespace AND n.source_id IS NOT NULL AND size(n.embedding) > 0 AND all(x IN n.embedding WHERE x = 0.0)
  AND n.text =~ '(?s).*[\\p{L}\\p{N}].*'
RETURN n.id AS id, 'evidence' AS label
UNION ALL
MATCH (n:Concept)
USING INDEX SEEK n:Concept(namespace, cluster)
WHERE
  n.namespace = $namespace AND n.cluster IS NOT NULL AND size(n.embedding) > 0 AND all(x IN n.embedding WHERE x = 0.0)
  AND n.name =~ '(?s).*[\\p{L}\\p{N}].*'
RETURN n.id AS id, 'concept' AS label
UNION ALL
MATCH (n:Community)
USING INDEX SEEK n:Community(namespace, id)
WHERE
  n.namespace = $namespace AND n.id IS NOT NULL AND size(n.embedding) > 0 AND all(x IN n.embedding WHERE x = 0.0)
  AND n.summary =~ '(?s).*[\\p{L}\\p{N}].*'
RETURN n.id AS id, 'summary' AS label
