// what: writes the relationships of a table between two node tables to a file. The caller puts in the names (<table>, <from>, <to>),
//     which the engine gave, and the file (<file>)
// parameters: none
// returns: nothing
COPY (MATCH (a:`<from>`)-[r:`<table>`]->(b:`<to>`) RETURN a.id, b.id, r.*) TO '<file>'
