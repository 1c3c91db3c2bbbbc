// what: lets no entity refer to a concept any more
// parameters: namespace
// returns: nothing
MATCH (:Entity)-[r:REFERS_TO]->(:Concept)
WHERE r.namespace = $namespace
DELETE r
