// what: counts the concepts of the namespace
// parameters: namespace
// returns: one row: number
MATCH (c:Concept)
WHERE c.namespace = $namespace AND c.cluster IS NOT NULL
RETURN count(c) AS number
