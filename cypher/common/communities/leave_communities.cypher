// what: takes entities out of the communities that they are in
// parameters: namespace, ids
// returns: nothing
UNWIND $ids AS id
MATCH (e:Entity {id: id})-[r:IN_COMMUNITY]->(:Community)
WHERE e.namespace = $namespace
DELETE r
