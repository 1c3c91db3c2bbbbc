// what: records which embedder fills the namespace, unless one is recorded
// parameters: namespace, embedder, dimension
// returns: one row: embedder, dimension (those that are recorded now)
MERGE (i:StoreInfo {key: $namespace})
ON CREATE SET i.namespace = $namespace, i.embedder = $embedder, i.dimension = $dimension
RETURN i.embedder AS embedder, i.dimension AS dimension
