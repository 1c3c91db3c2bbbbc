// what: asks whether the database answers at all
// parameters: none
// returns: one row: alive
RETURN true AS alive
