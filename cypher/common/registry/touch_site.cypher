// what: records when a site was last seen, and adds to its count of refused replies
// parameters: namespace, id, seen_at, refused
// returns: nothing
MATCH (e:Edge {id: $id})
WHERE e.namespace = $namespace
SET e.seen_at = $seen_at, e.refused = e.refused + $refused
