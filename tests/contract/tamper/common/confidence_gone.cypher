// what: takes the confidence of the simple edges of a namespace away
// parameters: namespace
// returns: nothing
MATCH (q:Source)-[:MENTIONS]->(:Entity)-[r:RELATED]->(:Entity)
WHERE q.namespace = $namespace
SET r.confidence = null
