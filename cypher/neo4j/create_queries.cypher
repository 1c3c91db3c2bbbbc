// what: makes the nodes of new queries from maps of their properties; where another writer was faster, the uniqueness of the
//     id makes this fail
// parameters: queries
// returns: nothing
UNWIND $queries AS properties
CREATE (q:Query)
SET q = properties
