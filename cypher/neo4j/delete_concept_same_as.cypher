// what: deletes judgements that stand, and opens the clusters of their concepts
// parameters: namespace, ids
// returns: nothing
UNWIND $ids AS id
MATCH (a:Concept)-[s:SAME_AS {id: id}]->(b:Concept)
WHERE s.namespace = $namespace AND s.undone_at = ''
SET a.cluster = '', b.cluster = ''
DELETE s
