// what: makes the triples of a namespace name an evidence that is not stored
// parameters: namespace
// returns: nothing
MATCH (q:Source)-[:MENTIONS]->(:Entity)-[t:TRIPLE]->(:Entity)
WHERE q.namespace = $namespace
SET t.evidence_id = 'missing'
