// what: copies simple edges from an arrow table whose columns, after the ids of both ends, are in this order
// parameters: rows
// returns: nothing
COPY RELATED (
  id, source_id, statement, predicates, confidence, support, triple_ids, evidence_ids, rank, namespace
) FROM $rows
