// what: names the properties of a table (<table> is put in by the caller)
// parameters: none
// returns: one row a property, in the order of the table: name
CALL table_info('<table>') RETURN name
