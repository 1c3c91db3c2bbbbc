// what: makes the simple edges of a namespace name a triple that is not stored
// parameters: namespace
// returns: nothing
MATCH (q:Source)-[:MENTIONS]->(:Entity)-[r:RELATED]->(:Entity)
WHERE q.namespace = $namespace
SET r.triple_ids = ['missing']
