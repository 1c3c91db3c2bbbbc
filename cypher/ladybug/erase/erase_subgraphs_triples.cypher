// what: erases the triples of a source
// parameters: namespace, source_id
// returns: one row: label, number (how many went)
MATCH (q:Source {id: $source_id})-[:MENTIONS]->(:Entity)-[t:TRIPLE]->(:Entity)
WHERE q.namespace = $namespace
DELETE t
RETURN 'TRIPLE' AS label, count(*) AS number
