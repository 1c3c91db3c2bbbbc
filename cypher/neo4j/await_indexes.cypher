// what: waits until the indexes that a migration made are usable
// parameters: seconds
// returns: nothing
CALL db.awaitIndexes($seconds)
