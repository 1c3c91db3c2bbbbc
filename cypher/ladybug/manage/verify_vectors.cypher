// what: finds vectors that are all zeros (but for questions: empty) although what they are of has words
// parameters: namespace
// returns: one row a vector: id, label
MATCH (n:Source)
WHERE
  n.namespace = $namespace AND n.kind = 'query' AND size(n.embedding) > 0 AND all(x IN n.embedding WHERE x = 0.0)
  AND n.text =~ '(?s).*[\\p{L}\\p{N}].*'
RETURN n.id AS id, 'question' AS label
UNION ALL
MATCH (n:Evidence)
WHERE
  n.namespace = $namespace AND octet_length(n.embedding) = 0
  AND n.text =~ '(?s).*[\\p{L}\\p{N}].*'
RETURN n.id AS id, 'evidence' AS label
UNION ALL
MATCH (n:Concept)
WHERE
  n.namespace = $namespace AND octet_length(n.embedding) = 0
  AND n.name =~ '(?s).*[\\p{L}\\p{N}].*'
RETURN n.id AS id, 'concept' AS label
UNION ALL
MATCH (n:Community)
WHERE
  n.namespace = $namespace AND octet_length(n.embedding) = 0
  AND n.summary =~ '(?s).*[\\p{L}\\p{N}].*'
RETURN n.id AS id, 'summary' AS label
