// what: takes away the vectors of concepts and opens their clusters, so that `link` embeds and judges them again
// parameters: namespace, ids
// returns: nothing
UNWIND $ids AS id
MATCH (c:Concept {id: id})
WHERE c.namespace = $namespace
SET c.embedding = NULL, c.cluster = ''
