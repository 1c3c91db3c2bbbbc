// what: finds the concepts that no entity refers to since sources were replaced
// parameters: namespace
// returns: one row a concept: id, is_undone (whether a judgement on it is undone)
MATCH (c:Concept)
USING INDEX SEEK c:Concept(namespace, cluster)
WHERE c.namespace = $namespace AND c.cluster = '' AND c.entities = 0
OPTIONAL MATCH (c)-[s:SAME_AS]-(:Concept)
WHERE s.undone_at <> ''
RETURN c.id AS id, count(s) > 0 AS is_undone
