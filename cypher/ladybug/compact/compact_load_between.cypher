// what: reads a file into an empty relationship table, for one pair of node tables (the caller puts in <table>, <from>, <to>, <file>)
// parameters: none
// returns: nothing
COPY `<table>` FROM '<file>' (from='<from>', to='<to>')
