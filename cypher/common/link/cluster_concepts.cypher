// what: sets the clusters of concepts, from maps: id, revision, cluster. One that is of another revision by now stays as it is: the
//     first SET waits for other writers
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
WHERE c.namespace = $namespace
SET c.key = c.key
WITH c, r
WHERE c.revision = r.revision
SET c.cluster = r.cluster
