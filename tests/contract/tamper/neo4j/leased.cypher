// what: lets a linker that nobody knows have the lease
// parameters: namespace, until (milliseconds since 1970)
// returns: nothing
MERGE (i:StoreInfo {key: $namespace})
SET i.namespace = $namespace, i.linker_until = $until
