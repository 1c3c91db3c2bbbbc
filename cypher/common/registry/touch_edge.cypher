// what: notes when an edge was heard of, and how many more of its replies were not usable
// parameters: namespace, id, seen_at, refused
// returns: nothing
MATCH (e:Edge {id: $id})
WHERE e.namespace = $namespace
SET e.seen_at = $seen_at, e.refused = e.refused + $refused
