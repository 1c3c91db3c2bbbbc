// what: erases the simple edges of a source, for an aggregation that makes them anew
// parameters: namespace, source_id
// returns: nothing
MATCH (q:Source {id: $source_id})-[:MENTIONS]->(:Entity)-[r:RELATED]->(:Entity)
WHERE q.namespace = $namespace
DELETE r
