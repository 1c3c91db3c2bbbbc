// what: takes the links of answers to their queries away
// parameters: namespace
// returns: nothing
MATCH (a:Answer)-[r:ANSWERS]->(:Source)
WHERE a.namespace = $namespace
DELETE r
