// what: reads the revisions of all sources of a namespace
// parameters: namespace
// returns: one row a source, in no order: id, revision
MATCH (q:Source)
WHERE q.namespace = $namespace
RETURN q.id AS id, coalesce(q.revision, '') AS revision
