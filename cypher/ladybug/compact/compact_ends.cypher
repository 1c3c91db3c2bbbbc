// what: names the pairs of node tables that a relationship table joins (<table> is put in by the caller)
// parameters: none
// returns: one row a pair, whose first columns are the two names
CALL show_connection('<table>') RETURN *
