// what: reads the nodes of all concepts, page by page, as all_concepts does
// parameters: namespace, reached, after (cluster and id of the last one of the page before), limit, vectors (whether these are
//     wanted, too)
// returns: one row a concept: id, properties, reached
CALL () {
  MATCH (c:Concept)
  USING INDEX SEEK c:Concept(namespace, cluster, id)
  WHERE c.namespace = $namespace AND c.cluster = $reached AND c.id > $after
  WITH c
  ORDER BY c.namespace, c.cluster, c.id
  LIMIT $limit
  RETURN collect([c, c.cluster, c.id]) AS here
}
CALL (here) {
  MATCH (c:Concept)
  USING INDEX SEEK c:Concept(namespace, cluster, id)
  WHERE c.namespace = $namespace AND c.cluster > CASE WHEN size(here) < $limit THEN $reached END AND c.id IS NOT NULL
  WITH c
  ORDER BY c.namespace, c.cluster, c.id
  LIMIT $limit
  RETURN collect([c, c.cluster, c.id]) AS behind
}
UNWIND (here + behind)[..$limit] AS found
WITH found[0] AS c, found[1] AS reached, found[2] AS id
RETURN id, c {.*, embedding: CASE WHEN $vectors THEN c.embedding END} AS properties, reached
ORDER BY reached, id
