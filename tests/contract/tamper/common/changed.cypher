// what: records another checksum for the first migration
// parameters: none
// returns: nothing
MATCH (m:Migration)
WHERE m.version = 1
SET m.checksum = 'changed ' + m.checksum
