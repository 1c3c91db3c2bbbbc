// what: writes the rows of a relationship table, which joins one pair of node tables, to a file. The caller puts in the names (<table>,
//     which the engine gave, and <file>)
// parameters: none
// returns: nothing
COPY (MATCH (a)-[r:`<table>`]->(b) RETURN a.id, b.id, r.*) TO '<file>'
