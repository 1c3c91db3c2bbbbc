// what: lets a linker have the namespace for longer. The first SET makes others wait
// parameters: namespace, holder, milliseconds
// returns: one row, or none where it is not this linker's any more: until
MATCH (i:StoreInfo {key: $namespace})
SET i.namespace = $namespace
WITH i
WHERE i.linker = $holder
SET i.linker_until = timestamp() + $milliseconds
RETURN i.linker_until AS until
