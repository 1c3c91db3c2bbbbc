// what: records migrations as an earlier version did
// parameters: rows
// returns: nothing
UNWIND $rows AS row
CREATE (n:Migration)
SET n = row
