// what: reads which concepts are in which cluster
// parameters: namespace
// returns: one row a concept, by cluster: cluster, id
MATCH (c:Concept)
WHERE c.namespace = $namespace AND c.cluster > ''
RETURN c.cluster AS cluster, c.id AS id
ORDER BY cluster
