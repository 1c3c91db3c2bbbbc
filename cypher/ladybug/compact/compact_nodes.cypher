// what: writes the rows of a node table to a file. A name cannot be a parameter: the caller puts in that of the table (<table>), which
//     the engine gave, and the file (<file>)
// parameters: none
// returns: nothing
COPY (MATCH (n:`<table>`) RETURN n.*) TO '<file>'
