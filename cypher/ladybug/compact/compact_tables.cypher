// what: names the tables of the store
// parameters: none
// returns: one row a table: name, type (NODE or REL)
CALL show_tables() RETURN name, type
