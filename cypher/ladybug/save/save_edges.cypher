// what: writes simple edges, numbered by the caller, from maps of their properties and the ids of their ends
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (s:Entity {id: r.subject_id})
MATCH (o:Entity {id: r.object_id})
CREATE (s)-[:RELATED {
  namespace: $namespace, source_id: r.source_id, id: r.id, statement: r.statement, predicates: r.predicates,
  confidence: r.confidence, support: r.support, triple_ids: r.triple_ids, evidence_ids: r.evidence_ids,
  contradicts: r.contradicts[2:], rank: r.rank
}]->(o)
