// what: lets go of the namespace, if it is this linker's
// parameters: namespace, holder
// returns: nothing
MATCH (i:StoreInfo {key: $namespace})
WHERE i.linker = $holder
SET i.linker = NULL, i.linker_until = NULL
