// what: walks from the ids of shown simple edges of a query to the ids of their triples
// parameters: namespace, source_id, refs
// returns: one row an edge that is stored: ref, triple_ids
MATCH (q:Query {id: $source_id})-[:MENTIONS]->(:Entity)-[r:RELATED]->(:Entity)
WHERE q.namespace = $namespace AND list_contains($refs, r.id)
RETURN r.id AS ref, r.triple_ids AS triple_ids
