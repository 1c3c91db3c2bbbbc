// what: copies the multigraph from an arrow table whose columns, after the ids of both ends, are in this order
// parameters: rows
// returns: nothing
COPY TRIPLE (
  id, source_id, predicate, predicate_key, confidence, evidence_id, call_id, rank, namespace
) FROM $rows
