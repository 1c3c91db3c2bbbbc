// what: makes other writers of these queries wait until this transaction ends; in order of id, so that two never wait for
//     each other
// parameters: namespace, ids
// returns: one row a query that is stored: id, settings_hash (as they are once the lock is held)
UNWIND $ids AS id
WITH id ORDER BY id
MATCH (q:Source {id: id})
USING INDEX SEEK q:Source(id)
WHERE q.namespace = $namespace
SET q.status = q.status
WITH q
RETURN q.id AS id, q.settings_hash AS settings_hash
