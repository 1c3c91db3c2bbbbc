// what: copies the links from evidence to the teacher calls that made it from an arrow table whose columns, after the ids of both ends, are in this order
// parameters: rows
// returns: nothing
COPY GENERATED_BY (
  namespace
) FROM $rows
