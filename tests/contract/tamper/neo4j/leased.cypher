// what: lets somebody have the lease of the linkers
// parameters: namespace, holder, until (milliseconds since 1970)
// returns: nothing
MERGE (i:StoreInfo {key: $namespace})
SET i.namespace = $namespace, i.linker = $holder, i.linker_until = $until
