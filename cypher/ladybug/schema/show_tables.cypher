// what: names the tables that the file declares, whoever declared them
// parameters: none
// returns: one row a table: name, type (NODE or REL)
CALL show_tables() RETURN name, type
