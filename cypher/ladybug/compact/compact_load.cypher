// what: reads a file into an empty table (<table> and <file> are put in by the caller)
// parameters: none
// returns: nothing
COPY `<table>` FROM '<file>'
