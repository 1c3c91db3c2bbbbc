// what: finds where in the index of its label the last node of a page is, to go on from there
// parameters: after
// returns: one row, or none where the node is gone: reached
MATCH (n:Entity|Evidence|Concept {id: $after})
RETURN coalesce(n.query_id, n.cluster) AS reached
