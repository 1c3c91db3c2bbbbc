// what: writes the multigraph from maps of the edges' properties and the ids of their ends
// parameters: namespace, rows
// returns: nothing
// Two clauses: one with both nodes would be a scan and a join instead of two look-ups by primary key.
UNWIND $rows AS r
MATCH (s:Entity {id: r.subject_id})
MATCH (o:Entity {id: r.object_id})
CREATE (s)-[:TRIPLE {
  namespace: $namespace, source_id: r.source_id, id: r.id, predicate: r.predicate, predicate_key: r.predicate_key,
  confidence: r.confidence, evidence_id: r.evidence_id, call_ids: r.call_ids, rank: r.rank, opposes: r.opposes[2:]
}]->(o)
