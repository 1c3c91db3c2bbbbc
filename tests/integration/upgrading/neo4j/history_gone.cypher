// what: forgets that anything was ever migrated
// parameters: none
// returns: nothing
MATCH (m:Migration)
DELETE m
