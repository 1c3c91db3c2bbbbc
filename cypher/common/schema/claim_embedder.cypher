// what: records which embedder fills the namespace, unless one is recorded and the namespace has a source or a summary of an
//     edge. The first SET makes other claims wait. What is stored is named first: the embedded engine has a CASE be of the type of its first value, and
//     that of a small number holds no large one
// parameters: namespace, embedder, dimension
// returns: one row: embedder, dimension (those that are recorded now)
MERGE (i:StoreInfo {key: $namespace})
SET i.namespace = $namespace
WITH i,
  EXISTS { MATCH (q:Source) WHERE q.namespace = $namespace AND q.id IS NOT NULL } AS has_sources,
  EXISTS { MATCH (s:Summary) WHERE s.namespace = $namespace AND s.id IS NOT NULL } AS has_summaries
WITH i, i.embedder IS NULL OR NOT (has_sources OR has_summaries) AS is_free
SET
  i.embedder = CASE WHEN NOT is_free THEN i.embedder ELSE $embedder END,
  i.dimension = CASE WHEN NOT is_free THEN i.dimension ELSE $dimension END
RETURN i.embedder AS embedder, i.dimension AS dimension
