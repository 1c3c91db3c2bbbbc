// what: forgets the migration that no code knows
// parameters: none
// returns: nothing
MATCH (m:Migration)
WHERE m.version = 9999
DELETE m
