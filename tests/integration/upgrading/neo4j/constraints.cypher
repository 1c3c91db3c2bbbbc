// what: finds the constraints of the database
// parameters: none
// returns: one row a constraint: name
SHOW CONSTRAINTS YIELD name
RETURN name ORDER BY name
