// what: copies simple edges from an arrow table whose columns, after the ids of both ends, are in this order
// parameters: rows
// returns: nothing
COPY RELATED (
  id, query_id, statement, predicates, confidence, support, triple_ids, evidence_ids, rank, namespace
) FROM $rows
