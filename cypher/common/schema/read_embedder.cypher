// what: which embedder filled the namespace
// parameters: namespace
// returns: at most one row: embedder, dimension
MATCH (i:StoreInfo {key: $namespace})
WHERE i.embedder IS NOT NULL
RETURN i.embedder AS embedder, i.dimension AS dimension
