// what: marks queries as expired, so that a refresh makes them anew
// parameters: namespace, ids, now
// returns: nothing
UNWIND $ids AS id
MATCH (q:Query {id: id})
WHERE q.namespace = $namespace
SET q.expires_at = $now
