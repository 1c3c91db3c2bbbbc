// what: erases simple edges of a query
// parameters: namespace, source_id, ids
// returns: nothing
MATCH (q:Query {id: $source_id})-[:MENTIONS]->(:Entity)-[r:RELATED]->(:Entity)
WHERE q.namespace = $namespace AND list_contains($ids, r.id)
DELETE r
