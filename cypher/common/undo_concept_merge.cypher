// what: takes a judgement back, or lets it stand again, and opens the clusters of its concepts
// parameters: namespace, id, undone_at
// returns: nothing
MATCH (a:Concept)-[s:SAME_AS]->(b:Concept)
WHERE s.id = $id AND s.namespace = $namespace
SET s.undone_at = $undone_at, a.cluster = '', b.cluster = ''
