// what: reads all concepts, page by page: those of the cluster that the page before has reached, and where these are few, those
//     behind it. Where in the index a concept is, is what the index said, as a node may be changed while it is read
// parameters: namespace, reached, after (cluster and id of the last one of the page before), limit
// returns: one row a concept: id, key, name, entities, cluster, reached
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
RETURN id, c.key AS key, c.name AS name, coalesce(c.entities, 0) AS entities, reached AS cluster, reached
ORDER BY reached, id
