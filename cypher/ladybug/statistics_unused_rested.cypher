// what: the evidence that the simple edges of a query rest on
// parameters: source_id
// returns: one row an edge: ids
MATCH (q:Query {id: $source_id})-[:MENTIONS]->(:Entity)-[r:RELATED]->(:Entity)
RETURN r.evidence_ids AS ids
