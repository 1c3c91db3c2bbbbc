// what: ends a transaction
// parameters: id
// returns: one row: message
TERMINATE TRANSACTION $id YIELD message
