// what: finds the indexes of the database that no constraint owns
// parameters: none
// returns: one row an index: name
SHOW INDEXES YIELD name, type, owningConstraint
WHERE type <> 'LOOKUP' AND owningConstraint IS NULL
RETURN name ORDER BY name
