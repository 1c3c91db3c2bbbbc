// what: writes vectors, in single precision, from maps: id, vector. The SET waits for who is erasing the node, and then it is looked
//     at again: the procedure would fail
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (v:Evidence {id: r.id})
USING INDEX SEEK v:Evidence(id)
WHERE v.namespace = $namespace
SET v.kept = v.kept
WITH v, r
WHERE v.source_id IS NOT NULL
CALL db.create.setNodeVectorProperty(v, 'embedding', r.vector)
