// what: corrects how many entities concepts have; their clusters are open then
// parameters: namespace, rows
// returns: nothing
UNWIND $rows AS r
MATCH (c:Concept {id: r.id})
WHERE c.namespace = $namespace
SET c.entities = r.entities, c.cluster = ''
