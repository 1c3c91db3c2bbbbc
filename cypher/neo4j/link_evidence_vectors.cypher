// what: writes vectors, in single precision, from lists of id and vector
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS row
MATCH (n:Evidence {id: row[0]})
USING INDEX SEEK n:Evidence(id)
WHERE n.namespace = $namespace
CALL db.create.setNodeVectorProperty(n, 'embedding', row[1])
