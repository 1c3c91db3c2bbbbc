// what: which embedder filled the namespace
// parameters: namespace
// returns: at most one row: embedder, dimension
MATCH (i:StoreInfo {key: $namespace})
RETURN i.embedder AS embedder, i.dimension AS dimension
