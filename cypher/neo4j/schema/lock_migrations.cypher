// what: keeps other upgraders waiting until the transaction ends. It is rolled back: the node is never there to be seen, and the
//     label is no migration's, so that changes of schema do not wait for it
// parameters: none
// returns: nothing
MERGE (lock:MigrationLock {key: 'upgrade'})
SET lock.taken = true
