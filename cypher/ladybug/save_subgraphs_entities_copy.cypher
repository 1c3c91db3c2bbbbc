// what: copies entities from an arrow table whose columns are in this order
// parameters: rows
// returns: nothing
COPY Entity (
  id, source_id, name, type, variants, namespace
) FROM $rows
