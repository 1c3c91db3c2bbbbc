// what: drops an index
// parameters: name
// returns: nothing
DROP INDEX $name IF EXISTS
