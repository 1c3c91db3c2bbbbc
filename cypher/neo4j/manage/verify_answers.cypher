// what: finds answers to a query that is not stored any more
// parameters: namespace
// returns: one row an answer: id
MATCH (a:Answer)
USING INDEX SEEK a:Answer(namespace, id)
WHERE a.namespace = $namespace AND a.id IS NOT NULL
  AND any(id IN a.source_ids WHERE NOT EXISTS { (q:Source {id: id}) })
RETURN a.id AS id
