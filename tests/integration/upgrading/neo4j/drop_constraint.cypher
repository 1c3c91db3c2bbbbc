// what: drops a constraint
// parameters: name
// returns: nothing
DROP CONSTRAINT $name IF EXISTS
