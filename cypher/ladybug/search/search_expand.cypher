// what: finds the concepts of clusters; a concept whose cluster is open (empty) is not among them
// parameters: namespace, clusters
// returns: one row a concept: id, cluster
MATCH (c:Concept)
WHERE c.namespace = $namespace AND c.cluster IN $clusters
RETURN c.id AS id, c.cluster AS cluster
