// what: takes away the vectors of evidence, so that `link` embeds it again
// parameters: namespace, ids
// returns: nothing
UNWIND $ids AS id
MATCH (n:Evidence {id: id})
WHERE n.namespace = $namespace
SET n.embedding = NULL
