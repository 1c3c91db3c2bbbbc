// what: writes vectors, in single precision, from lists of id and vector. The SET waits for who is erasing the node,
//     and then it is looked at again: the procedure would fail
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS row
MATCH (n:Evidence {id: row[0]})
USING INDEX SEEK n:Evidence(id)
WHERE n.namespace = $namespace
SET n.kept = n.kept
WITH n, row
WHERE n.source_id IS NOT NULL
CALL db.create.setNodeVectorProperty(n, 'embedding', row[1])
