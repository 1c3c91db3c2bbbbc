// what: opens clusters, until `link` has come to them
// parameters: namespace, clusters
// returns: nothing
MATCH (c:Concept)
WHERE c.namespace = $namespace AND c.cluster <> '' AND list_contains($clusters, c.cluster)
SET c.cluster = ''
