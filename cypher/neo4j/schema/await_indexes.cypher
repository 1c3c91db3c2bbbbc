// what: waits until all indexes are usable
// parameters: seconds (how long)
// returns: nothing
CALL db.awaitIndexes($seconds)
