// what: records which embedder fills the namespace, unless one is recorded and the namespace has a query. The first SET makes
//     other claims wait
// parameters: namespace, embedder, dimension
// returns: one row: embedder, dimension (those that are recorded now)
MERGE (i:StoreInfo {key: $namespace})
SET i.namespace = $namespace
WITH i, i.embedder IS NULL OR NOT EXISTS { MATCH (q:Query) WHERE q.namespace = $namespace AND q.id IS NOT NULL } AS is_free
SET
  i.embedder = CASE WHEN is_free THEN $embedder ELSE i.embedder END,
  i.dimension = CASE WHEN is_free THEN $dimension ELSE i.dimension END
RETURN i.embedder AS embedder, i.dimension AS dimension
