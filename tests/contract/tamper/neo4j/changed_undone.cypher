// what: records the first migration's own checksum again
// parameters: none
// returns: nothing
MATCH (m:Migration)
WHERE m.version = 1 AND m.checksum STARTS WITH 'changed '
SET m.checksum = substring(m.checksum, 8)
