// what: finds concepts without a vector, page by page, as all_concepts does
// parameters: namespace, reached, after (cluster and id of the last one of the page before), limit
// returns: one row a node: id, text, reached
CALL () {
  MATCH (n:Concept)
  USING INDEX SEEK n:Concept(namespace, cluster, id)
  WHERE n.namespace = $namespace AND n.cluster = $reached AND n.id > $after AND n.embedding IS NULL AND n.name <> ''
  WITH n
  ORDER BY n.namespace, n.cluster, n.id
  LIMIT $limit
  RETURN collect([n, n.cluster, n.id]) AS here
}
CALL (here) {
  MATCH (n:Concept)
  USING INDEX SEEK n:Concept(namespace, cluster, id)
  WHERE n.namespace = $namespace AND n.cluster > CASE WHEN size(here) < $limit THEN $reached END AND n.id IS NOT NULL
    AND n.embedding IS NULL AND n.name <> ''
  WITH n
  ORDER BY n.namespace, n.cluster, n.id
  LIMIT $limit
  RETURN collect([n, n.cluster, n.id]) AS behind
}
UNWIND (here + behind)[..$limit] AS found
WITH found[0] AS n, found[1] AS reached, found[2] AS id
RETURN id, n.name AS text, reached
ORDER BY reached, id
