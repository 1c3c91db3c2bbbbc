// what: forgets that a migration was applied
// parameters: version
// returns: nothing
MATCH (m:Migration)
WHERE m.version = $version
DELETE m
