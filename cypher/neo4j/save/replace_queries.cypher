// what: gives stored queries new properties, by maps of them; their answers stay linked to them
// parameters: queries
// returns: nothing
UNWIND $queries AS properties
MATCH (q:Source {id: properties.id})
USING INDEX SEEK q:Source(id)
SET q = properties
