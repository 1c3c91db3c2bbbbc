// what: erases the triples of a query
// parameters: namespace, source_id
// returns: one row: number (how many went)
MATCH (q:Query|Document {id: $source_id})-[:MENTIONS]->(:Entity)-[t:TRIPLE]->(:Entity)
WHERE q.namespace = $namespace
DELETE t
RETURN count(*) AS number
