// what: erases triples of a query
// parameters: namespace, source_id, ids
// returns: nothing
MATCH (q:Query {id: $source_id})-[:MENTIONS]->(:Entity)-[t:TRIPLE]->(:Entity)
WHERE q.namespace = $namespace AND list_contains($ids, t.id)
DELETE t
