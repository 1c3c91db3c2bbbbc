// what: the tables that the file declares, whoever declared them
// parameters: none
// returns: one row a table: name
CALL show_tables() RETURN name
