// what: counts the vectors in each namespace that are all zeros although what they are of has words
// parameters: none
// returns: one row a namespace and label of which there are some: namespace, label, number
MATCH (n:Query)
WHERE size(n.embedding) > 0 AND all(x IN n.embedding WHERE x = 0.0) AND n.text =~ '(?s).*[\\p{L}\\p{N}].*'
RETURN n.namespace AS namespace, 'questions' AS label, count(n) AS number
UNION ALL
MATCH (n:Evidence)
WHERE size(n.embedding) > 0 AND all(x IN n.embedding WHERE x = 0.0) AND n.text =~ '(?s).*[\\p{L}\\p{N}].*'
RETURN n.namespace AS namespace, 'evidence' AS label, count(n) AS number
UNION ALL
MATCH (n:Concept)
WHERE size(n.embedding) > 0 AND all(x IN n.embedding WHERE x = 0.0) AND n.name =~ '(?s).*[\\p{L}\\p{N}].*'
RETURN n.namespace AS namespace, 'concepts' AS label, count(n) AS number
