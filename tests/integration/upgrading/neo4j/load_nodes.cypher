// what: writes nodes as an earlier version left them
// parameters: rows
// returns: nothing
UNWIND $rows AS row
CREATE (n:$(row.label))
SET n = row.properties
