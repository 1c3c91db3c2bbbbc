// what: copies the links from queries to their entities from an arrow table whose columns, after the ids of both ends, are in this order
// parameters: rows
// returns: nothing
COPY MENTIONS (
  namespace
) FROM $rows
