// what: finds the concepts that only keep judgements which were taken back
// parameters: namespace
// returns: one row a concept: id
MATCH (c:Concept)
WHERE c.namespace = $namespace AND c.name = ''
RETURN c.id AS id
